// Keeps a page live. Everything is readable without it.
const policy = window.trustedTypes?.createPolicy("yudai", {createHTML: (html) => html}) ?? {createHTML: (html) => html};
const connection = document.getElementById("connection");

// open follows a stream while the tab is seen: a browser has few connections. handlers are by the name of the event.
function open(url, handlers) {
  let source = null;
  const start = () => {
    if (source || document.hidden) return;
    source = new EventSource(url());
    source.onopen = () => { connection.textContent = "live"; };
    source.onerror = () => {
      connection.textContent = "connecting …";
      if (source.readyState !== EventSource.CLOSED) return;
      source = null; // an error that browsers do not try again after: the session ended, or a proxy has no server
      fetch(location.href).then((answer) => { if (answer.status === 401) location.reload(); }, () => {});
      setTimeout(start, 3000);
    };
    for (const [name, handle] of Object.entries(handlers)) source.addEventListener(name, (e) => handle(e, stop));
  };
  const pause = () => { source?.close(); source = null; };
  const change = () => (document.hidden ? pause() : start());
  const stop = () => { pause(); document.removeEventListener("visibilitychange", change); };
  document.addEventListener("visibilitychange", change);
  start();
  return stop;
}

// refresh reads the page again and exchanges the parts that changed; what people opened stays open.
let reading = false, again = false;
async function refresh() {
  if (reading) { again = true; return; }
  reading = true;
  try {
    const answer = await fetch(location.href);
    if (!answer.ok) return;
    const next = new DOMParser().parseFromString(policy.createHTML(await answer.text()), "text/html");
    const parts = [...document.querySelectorAll("[data-live][id]:not(.log)")], fresh = [...next.querySelectorAll("[data-live][id]:not(.log)")];
    if (parts.map((p) => p.id).join() !== fresh.map((p) => p.id).join()) { location.reload(); return; }
    parts.forEach((part, i) => {
      const opened = [...part.querySelectorAll("details")].map((d) => d.open);
      const focus = part.contains(document.activeElement) ? document.activeElement.getAttribute("href") : null;
      const want = fresh[i];
      want.querySelectorAll("details").forEach((d, n) => { if (n < opened.length) d.open = opened[n]; });
      if (part.innerHTML === want.innerHTML) return;
      const top = part.scrollTop + part.clientHeight >= part.scrollHeight - 20 ? Infinity : part.scrollTop;
      part.replaceWith(document.adoptNode(want));
      want.scrollTop = Math.min(top, want.scrollHeight);
      if (focus) want.querySelector(`[href="${CSS.escape(focus)}"]`)?.focus({preventScroll: true});
    });
    document.title = next.title;
    if (!next.body.dataset.stream) { stopPage?.(); connection.textContent = ""; }
  } finally {
    reading = false;
    if (again) { again = false; setTimeout(refresh, 300); }
  }
}
let stopPage = null;
if (document.body.dataset.stream) stopPage = open(() => document.body.dataset.stream, {changed: refresh});

// The log: absolute line numbers, blocks of 500 lines, text appended once for each animation frame.
const size = 500, most = 400;
const log = document.getElementById("log");
if (log) startLog(log);

function startLog(log) {
  const path = log.dataset.path, lines = log.querySelector(".lines");
  const follow = log.querySelector(".follow"), field = log.querySelector("input[name=q]"), count = log.querySelector(".hits");
  let cursor = log.dataset.cursor, following = false, pending = [];

  const rowHeight = () => parseFloat(getComputedStyle(lines).lineHeight);
  const blockOf = (n) => [...lines.children].findLast((b) => Number(b.dataset.first) <= n);
  const total = () => Number(cursor.split(".")[1]);

  // show scrolls to line n and marks the lines from n to end.
  function show(n, end = n) {
    const block = blockOf(n);
    if (!block || n > total()) { location.href = `${path}?at=L${n}${end > n ? "-L" + end : ""}#L${n}`; return; }
    lines.querySelectorAll(".mark").forEach((m) => m.remove());
    const mark = document.createElement("div"), height = rowHeight(), top = (n - Number(block.dataset.first)) * height;
    mark.className = "mark";
    mark.style.top = top + "px";
    mark.style.height = (end - n + 1) * height + "px";
    block.append(mark);
    setFollow(false);
    lines.scrollTop = block.offsetTop + top - lines.clientHeight / 3; // blocks that were never seen have a guessed height
    requestAnimationFrame(() => { lines.scrollTop = block.offsetTop + top - lines.clientHeight / 3; });
  }
  const fromHash = () => {
    const m = location.hash.match(/^#L(\d+)(?:-L?(\d+))?$/);
    if (m) show(Number(m[1]), Math.max(Number(m[2] ?? m[1]), Number(m[1])));
  };
  window.addEventListener("hashchange", fromHash);

  // A click on a number links to its line, with shift to the lines from the one before.
  lines.addEventListener("click", (e) => {
    if (!e.target.classList.contains("n")) return;
    const n = Number(e.target.parentElement.dataset.first) + Math.floor((e.clientY - e.target.getBoundingClientRect().top) / rowHeight());
    const from = Number(location.hash.match(/^#L(\d+)/)?.[1] ?? n);
    location.hash = e.shiftKey && from !== n ? `L${Math.min(from, n)}-L${Math.max(from, n)}` : `L${n}`;
  });
  document.addEventListener("click", (e) => {
    const n = e.target.closest?.("a[data-line]")?.dataset.line;
    if (!n || e.ctrlKey || e.metaKey || e.shiftKey) return;
    e.preventDefault();
    if (location.hash === `#L${n}`) fromHash(); else location.hash = `L${n}`;
  });

  function setFollow(on) {
    following = on;
    follow.setAttribute("aria-pressed", String(on));
    follow.textContent = on ? "following" : "follow";
    if (on) lines.scrollTop = lines.scrollHeight;
  }
  follow.addEventListener("click", () => setFollow(!following));
  lines.addEventListener("wheel", (e) => { if (e.deltaY < 0) setFollow(false); }, {passive: true});

  // flush writes what came since the last animation frame.
  function flush() {
    const batch = pending;
    pending = [];
    log.querySelector(".empty")?.remove();
    let at = 0;
    while (at < batch.length) {
      const n = batch[at].n;
      let block = lines.lastElementChild;
      if (!block || (n - 1) % size === 0) {
        block = document.createElement("div");
        block.className = "block";
        block.dataset.first = n;
        const numbers = document.createElement("pre"), text = document.createElement("pre");
        numbers.className = "n"; numbers.ariaHidden = "true"; text.className = "t";
        block.append(numbers, text);
        lines.append(block);
      }
      const end = Math.min(batch.length, at + size - (n - 1) % size);
      block.children[0].append(batch.slice(at, end).map((l) => l.n + "\n").join(""));
      block.children[1].insertAdjacentHTML("beforeend", policy.createHTML(batch.slice(at, end).map((l) => l.html + "\n").join("")));
      at = end;
    }
    while (following && lines.childElementCount > most) lines.firstElementChild.remove();
    if (following) lines.scrollTop = lines.scrollHeight;
  }
  if (log.hasAttribute("data-live")) {
    follow.hidden = false;
    setFollow(!location.hash);
    open(() => `${path}/stream?after=${cursor}`, {
      message: (e) => {
        const {first, lines} = JSON.parse(e.data);
        const skip = Math.max(0, total() + 1 - first); // never twice
        if (skip >= lines.length) return;
        if (!pending.length) requestAnimationFrame(flush);
        for (let i = skip; i < lines.length; i++) pending.push({n: first + i, html: lines[i]});
        cursor = e.lastEventId;
      },
      reset: (_, stop) => { stop(); location.reload(); },
      end: (_, stop) => { stop(); setFollow(false); follow.hidden = true; },
    });
  } else if (!location.hash && !log.closest(".run")) lines.scrollTop = lines.scrollHeight;

  // Search asks the server: it has the whole log.
  let hits = [], found = 0, here = -1;
  const buttons = [log.querySelector(".previous"), log.querySelector(".next")];
  function step(by) {
    if (!hits.length) return;
    here = (here + by + hits.length) % hits.length;
    count.textContent = `${here + 1} of ${found}`;
    location.hash = `L${hits[here]}`;
  }
  async function search() {
    const q = field.value;
    hits = []; here = -1; count.textContent = "";
    buttons.forEach((b) => { b.hidden = true; });
    if (!q) return;
    const answer = await fetch(`${path}/search?q=${encodeURIComponent(q)}`);
    if (!answer.ok || field.value !== q) return;
    ({lines: hits, total: found} = await answer.json());
    if (!hits.length) { count.textContent = "no hits"; return; }
    buttons.forEach((b) => { b.hidden = false; });
    step(1);
  }
  let searched = field.value;
  field.form.addEventListener("submit", (e) => {
    e.preventDefault();
    if (field.value === searched && hits.length) { step(1); return; }
    searched = field.value;
    search();
  });
  buttons.forEach((b, i) => b.addEventListener("click", () => step(i ? 1 : -1)));
  fromHash();
}

// The keys; the dialog in the frame is their map.
const map = document.getElementById("keys"), opener = document.getElementById("map");
opener.hidden = false;
opener.addEventListener("click", () => map.showModal());
document.addEventListener("keydown", (e) => {
  if (e.ctrlKey || e.metaKey || e.altKey || map.open || /^(INPUT|SELECT|TEXTAREA)$/.test(e.target.tagName)) return;
  const here = {"?": "#map", s: 'nav a[href="/"]', r: 'nav a[href="/repositories"]'}[e.key];
  const what = {"/": "input[name=q]", n: ".next", p: ".previous", e: "header a[data-line]", f: ".follow"}[e.key];
  let target = here ? document.querySelector(here) : what && log?.querySelector(what);
  if (e.key === "j" || e.key === "k") {
    const all = [...document.querySelectorAll("a.card, a.lane, a.stepcard")], at = all.indexOf(document.activeElement);
    target = all[e.key === "j" ? at + 1 : Math.max(0, at - 1)];
  }
  if (!target || target.hidden) return;
  e.preventDefault();
  if (e.key === "/" || e.key === "j" || e.key === "k") target.focus(); else target.click();
});
