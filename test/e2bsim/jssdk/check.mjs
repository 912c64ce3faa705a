// Drives the stub with E2B's own SDK. The environment says where it is:
// E2B_API_URL, E2B_SANDBOX_URL, E2B_API_KEY. Any difference is an error.
import assert from 'node:assert/strict'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { CommandExitError, Sandbox, Template, waitForTimeout } from 'e2b'

const awaited = async (what, good) => {
  for (let tries = 0; tries < 200; tries++) {
    if (await good()) return
    await new Promise((resolve) => setTimeout(resolve, 25))
  }
  assert.fail(`waited in vain: ${what}`)
}
const all = async (paginator) => {
  const found = []
  while (paginator.hasNext) found.push(...(await paginator.nextItems()))
  return found
}
const step = async (name, check) => {
  await check()
  console.log(`ok ${name}`)
}

const metadata = { app: 'yudai', run: '42 a&b' }
const sandbox = await Sandbox.create('base', { timeoutMs: 600_000, metadata, envs: { COLOUR: 'red' } })

await step('commands', async () => {
  const hi = await sandbox.commands.run('echo hi; id -un; echo $COLOUR $SHAPE; echo oops >&2', { envs: { SHAPE: 'round' } })
  assert.deepEqual([hi.exitCode, hi.stdout, hi.stderr], [0, 'hi\nuser\nred round\n', 'oops\n'])
  assert.equal((await sandbox.commands.run('id -u; pwd', { user: 'root', cwd: '/usr' })).stdout, '0\n/usr\n')
  await assert.rejects(sandbox.commands.run('exit 7'), (err) => err instanceof CommandExitError && err.exitCode === 7)
  const big = await sandbox.commands.run('head -c 300000 /dev/zero | tr "\\0" x')
  assert.equal(big.stdout.length, 300000)
})

await step('background commands', async () => {
  const handle = await sandbox.commands.run('echo up; exec sleep 300', { background: true, timeoutMs: 0 })
  await awaited('the output', () => handle.stdout === 'up\n')
  const listed = (await sandbox.commands.list()).find((p) => p.pid === handle.pid)
  assert.deepEqual(listed.args, ['-l', '-c', 'echo up; exec sleep 300'])
  const second = await sandbox.commands.connect(handle.pid)
  assert.equal(await handle.kill(), true)
  await assert.rejects(handle.wait(), (err) => err instanceof CommandExitError && err.exitCode === -1)
  await assert.rejects(second.wait(), CommandExitError)
  assert.equal(await sandbox.commands.kill(handle.pid), false)
})

await step('input', async () => {
  const cat = await sandbox.commands.run('cat; echo end', { background: true, stdin: true })
  await sandbox.commands.sendStdin(cat.pid, 'one\n')
  await awaited('the echo', () => cat.stdout === 'one\n')
  await cat.closeStdin()
  assert.equal((await cat.wait()).stdout, 'one\nend\n')
})

await step('a terminal', async () => {
  let seen = ''
  const pty = await sandbox.pty.create({ cols: 90, rows: 20, onData: (data) => { seen += new TextDecoder().decode(data) } })
  await sandbox.pty.resize(pty.pid, { cols: 100, rows: 30 })
  await sandbox.pty.sendInput(pty.pid, new TextEncoder().encode('stty size; exit 3\n'))
  await assert.rejects(pty.wait(), (err) => err.exitCode === 3)
  assert.match(seen, /30 100/)
})

await step('a time limit', async () => {
  const began = Date.now()
  await assert.rejects(sandbox.commands.run('sleep 60', { timeoutMs: 500 }), /deadline|timed out|timeout/i)
  assert.ok(Date.now() - began < 30_000)
})

await step('files', async () => {
  const info = await sandbox.files.write('notes/a.txt', 'hello', { metadata: { colour: 'blue' } })
  assert.equal(info.path, '/home/user/notes/a.txt')
  assert.equal(await sandbox.files.read('notes/a.txt'), 'hello')
  await sandbox.files.write([{ path: '/tmp/x/1', data: 'one' }, { path: '/tmp/x/2', data: new Blob(['two']) }])
  await sandbox.files.write('/tmp/x/3', 'three', { useOctetStream: true, gzip: true })
  assert.deepEqual((await sandbox.files.list('/tmp/x')).map((e) => [e.name, e.type, e.size]), [['1', 'file', 3], ['2', 'file', 3], ['3', 'file', 5]])
  assert.equal(Buffer.from(await sandbox.files.read('/tmp/x/3', { format: 'bytes' })).toString(), 'three')
  const stat = await sandbox.files.getInfo('notes/a.txt')
  assert.deepEqual([stat.owner, stat.permissions, stat.size, stat.metadata], ['user', '-rw-r--r--', 5, { colour: 'blue' }])
  assert.equal((await sandbox.files.rename('notes/a.txt', '/tmp/y/b.txt')).path, '/tmp/y/b.txt')
  assert.equal(await sandbox.files.exists('notes/a.txt'), false)
  assert.equal(await sandbox.files.makeDir('/tmp/y'), false)
  assert.equal(await sandbox.files.makeDir('/tmp/z/deep'), true)
  await sandbox.files.remove('/tmp/y')
  await sandbox.files.remove('/tmp/y')
  await assert.rejects(sandbox.files.read('/tmp/y/b.txt'), /not exist|not found/i)
  const url = await sandbox.downloadUrl('/tmp/x/1', { useSignature: true, useSignatureExpiration: 60 })
  const got = await fetch(url, { headers: { 'E2b-Sandbox-Id': sandbox.sandboxId } })
  assert.equal(await got.text(), 'one')
})

await step('watching', async () => {
  const seen = []
  const watch = await sandbox.files.watchDir('/tmp/z', (event) => seen.push(`${event.type} ${event.name}`), { recursive: true })
  await sandbox.files.write('/tmp/z/deep/new', 'x')
  await awaited('the events', () => seen.includes('create deep/new') && seen.includes('write deep/new'))
  await watch.stop()
})

await step('lists', async () => {
  const other = await Sandbox.create({ metadata: { ...metadata, run: '43' }, timeoutMs: 60_000 })
  assert.deepEqual((await all(Sandbox.list({ query: { metadata } }))).map((s) => s.sandboxId), [sandbox.sandboxId])
  const pages = await all(Sandbox.list({ query: { metadata: { app: 'yudai' } }, limit: 1 }))
  assert.deepEqual(pages.map((s) => s.sandboxId).sort(), [sandbox.sandboxId, other.sandboxId].sort())
  assert.equal(await other.kill(), true)
  assert.equal(await other.kill(), false)
  assert.equal(await other.isRunning(), false)
})

await step('time and state', async () => {
  await sandbox.setTimeout(900_000)
  const info = await sandbox.getInfo()
  assert.deepEqual([info.state, info.metadata, info.lifecycle.onTimeout], ['running', metadata, 'kill'])
  assert.ok(info.endAt - Date.now() > 800_000)
  assert.equal((await sandbox.getMetrics()).length, 1)
  await sandbox.updateNetwork({ allowOut: ['api.github.com'], denyOut: ['0.0.0.0/0'] })
  assert.deepEqual((await sandbox.getInfo()).network.allowOut, ['api.github.com'])
})

await step('forks', async () => {
  await sandbox.files.write('shared', 'before')
  const forks = await sandbox.fork({ count: 2, timeoutMs: 60_000 })
  for (const [i, fork] of forks.entries()) {
    assert.ok(fork instanceof Sandbox, String(fork))
    assert.equal((await fork.commands.run(`cat shared; echo $COLOUR; echo ${i} >shared`)).stdout, 'beforered\n')
  }
  assert.deepEqual(await Promise.all([sandbox, ...forks].map((s) => s.files.read('shared'))), ['before', '0\n', '1\n'])
  await Promise.all(forks.map((fork) => fork.kill()))
})

await step('snapshots', async () => {
  const snapshot = await sandbox.createSnapshot()
  assert.deepEqual((await all(Sandbox.listSnapshots({ sandboxId: sandbox.sandboxId }))).map((s) => s.snapshotId), [snapshot.snapshotId])
  const copy = await Sandbox.create(snapshot.snapshotId, { metadata: { app: 'copy' }, timeoutMs: 60_000 })
  assert.equal(await copy.files.read('shared'), 'before')
  await assert.rejects(Sandbox.deleteSnapshot(snapshot.snapshotId), /using it/)
  await copy.kill()
  assert.equal(await Sandbox.deleteSnapshot(snapshot.snapshotId), true)
  assert.equal(await Sandbox.deleteSnapshot(snapshot.snapshotId), false)
})

await step('pause and connect', async () => {
  assert.equal(await sandbox.pause(), true)
  assert.equal(await sandbox.pause(), false)
  assert.equal((await sandbox.getInfo()).state, 'paused')
  await assert.rejects(sandbox.files.read('shared'))
  const again = await Sandbox.connect(sandbox.sandboxId, { timeoutMs: 60_000 })
  assert.equal(await again.files.read('shared'), 'before')
  assert.equal(await again.kill(), true)
  await assert.rejects(Sandbox.connect(sandbox.sandboxId), /not found/)
})

await step('templates', async () => {
  const context = mkdtempSync(join(tmpdir(), 'context-'))
  writeFileSync(join(context, 'tool.sh'), '#!/bin/sh\necho tool\n')
  const template = Template({ fileContextPath: context })
    .fromImage('debian:12')
    .copy('tool.sh', '/opt/tool.sh', { mode: 0o755 })
    .runCmd('true')
    .setWorkdir('/opt')
    .setStartCmd('true', waitForTimeout(1000))
  const lines = []
  const built = await Template.build(template, 'made-here', { cpuCount: 4, memoryMB: 2048, onBuildLogs: (entry) => lines.push(entry.message) })
  assert.ok(built.templateId && lines.length > 3, lines.join('\n'))
  assert.equal(await Template.exists('made-here'), true)
  assert.equal(await Template.exists('not-made'), false)
  const made = await Sandbox.create('made-here', { timeoutMs: 60_000 })
  assert.equal((await made.commands.run('pwd; ./tool.sh')).stdout, '/opt\ntool\n')
  assert.deepEqual([(await made.getInfo()).cpuCount, (await made.getInfo()).memoryMB], [4, 2048])
  await made.kill()
})
