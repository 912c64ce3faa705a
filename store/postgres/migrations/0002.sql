-- The newest transaction of each connection: who did not hear of its commit asks here.
create table outcome (
    connection text collate "C" primary key, n bigint not null, made timestamptz not null default now()
);
