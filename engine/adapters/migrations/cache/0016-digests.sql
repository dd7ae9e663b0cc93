-- SHA-256 digests of stored files. Null = not known, as of datasets that were stored before this.

-- Of a document or property file, the version of the object that the digest is of: if the store has another, it does not count.
alter table dataset_file add column sha256 bytea check (octet_length(sha256) = 32), add column etag text;

-- Of the two archives, each with the version of the object that it is of.
alter table dataset
  add column upload_zip_sha256 bytea check (octet_length(upload_zip_sha256) = 32), add column upload_zip_etag text,
  add column install_zip_sha256 bytea check (octet_length(install_zip_sha256) = 32), add column install_zip_etag text,
  add check ((upload_zip_sha256 is null) = (upload_zip_etag is null)),
  add check ((install_zip_sha256 is null) = (install_zip_etag is null));

-- What the client says of a whole resumable upload; null once it was found to be true.
alter table resumable_upload add column sha256 bytea check (octet_length(sha256) = 32);
