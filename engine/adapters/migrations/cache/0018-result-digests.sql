-- SHA-256 of the result of a handler job, with the version of the object that it is of. Null = not known, as of results that were
-- stored before this.
alter table handler_job
  add column result_sha256 bytea check (octet_length(result_sha256) = 32), add column result_etag text,
  add check ((result_sha256 is null) = (result_etag is null));
