-- Whose share of the queue a job counts against, while it waits or runs: no claim lets one tenant keep out the others. Jobs of
-- processes of the release before share one, and so do those that have ended: who asked for them, or from where, is not kept.
alter table report_job add column tenant text collate "C" not null default 'unknown';

create index report_job_shares on report_job (tenant, run_at, id) where status = 'queued';
