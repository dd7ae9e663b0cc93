-- The trace of the request for which a job was queued last (W3C Trace Context): what its run logs.
alter table report_job add column traceparent text;
