-- SHA-256 of the files of reports, each with the version of the object that it is of. Null = not known, as of files that were stored
-- before this.
alter table report_file
  add column sha256 bytea check (octet_length(sha256) = 32), add column etag text,
  add check ((sha256 is null) = (etag is null));
