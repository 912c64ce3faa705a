-- Times are nanoseconds since 1970 in UTC: a timestamptz would cut them to microseconds.
-- The zero time is the smallest bigint. Keys sort by bytes.
create table solve (
    id text collate "C" primary key,
    trigger_key text collate "C" not null unique,
    repo bigint not null,
    issue bigint not null,
    live boolean not null,
    waiting boolean not null,
    state text not null,
    created bigint not null,
    started bigint not null,
    ended bigint not null,
    brief jsonb not null,
    record jsonb not null
);
create unique index solve_of_issue on solve (repo, issue) where live;
create index solve_live on solve (created, id) where live;
create index solve_waiting on solve (repo, created, id) where waiting;
create index solve_started on solve (started, id);
create index solve_ended on solve (ended) where not live;

create table latest (
    repo bigint, issue bigint, solve text collate "C" not null, primary key (repo, issue)
);

create table run (
    solve text collate "C" not null references solve (id),
    n integer not null,
    state text not null,
    active boolean not null,
    final boolean not null,
    node text collate "C" not null,
    wave integer not null,
    record jsonb not null,
    primary key (solve, n)
);
create index run_active on run (solve, n) where active;
create index run_queued on run (solve, wave, n) where state = 'queued';
create index run_unfinished on run (solve) where not final;

create table event (
    solve text collate "C" not null, seq bigint not null, record jsonb not null, primary key (solve, seq)
);

create sequence effect_age;
create table effect (
    key text collate "C" primary key,
    age bigint not null,
    look bigint,
    record jsonb not null
);
create index effect_due on effect (look) where look is not null;

create table ask (id text collate "C" primary key, at bigint not null, record jsonb not null);
create table node (name text collate "C" primary key, until bigint not null);

create table delivery (
    guid text collate "C" primary key,
    received bigint not null,
    event text not null,
    action text not null,
    payload bytea
);
create index delivery_received on delivery (received);

create table transcript (
    solve text collate "C" not null,
    run integer not null,
    attempt integer not null,
    n bigint generated always as identity,
    lines bytea not null,
    primary key (solve, run, attempt, n)
);
alter table transcript alter lines set storage external;

create table artifact (
    solve text collate "C" not null, name text collate "C" not null, content bytea not null, primary key (solve, name)
);
create table fate (solve text collate "C" primary key, record jsonb not null);
create table track_record (repo bigint primary key, record jsonb);

-- What a failover or a backup brought back: its owners' effects may have been made before.
create table doubt (owner text collate "C" primary key, at bigint not null);

create view solves as
select id, record #>> '{repo,owner}' || '/' || (record #>> '{repo,name}') as repo, issue,
    coalesce(nullif(record #>> '{base,branch}', ''), record #>> '{repo,default_branch}') as base_branch,
    state as status, (record ->> 'created')::timestamptz as created_at
from solve;

create view solve_runs as
select run.solve || '/' || run.n as id, run.solve as solve_id,
    run.record #>> '{experiment,model}' as model,
    (run.record #>> '{experiment,temperature}')::double precision as temp,
    (run.record #>> '{experiment,max_edits}')::integer as max_edits,
    run.record #>> '{experiment,strategy}' as evolution,
    run.state as status,
    case when (solve.record #>> '{decision,champion}')::integer = run.n then solve.record #>> '{pull,url}' end as pr_url,
    (run.record #>> '{verdict,counts,passed}')::integer as tests_passed,
    (run.record #>> '{candidate,added}')::integer + (run.record #>> '{candidate,deleted}')::integer as loc_changed,
    jsonb_array_length(nullif(run.record #> '{candidate,files}', 'null')) as files_changed,
    (run.record #>> '{progress,usage,input_tokens}')::bigint + (run.record #>> '{progress,usage,output_tokens}')::bigint as tokens,
    (run.record #>> '{agent_time}')::bigint / 1000000 as latency_ms,
    '/solve/' || run.solve || '/runs/' || run.n || '/log' as logs_url
from run join solve on solve.id = run.solve;
