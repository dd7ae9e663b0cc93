-- Keys by which clients repeat requests that create something (ports/idempotency-keys.ts). Times come from the service's clock.

create table idempotency_key (
  caller text collate "C" not null,
  operation text collate "C" not null,
  key text collate "C" not null,
  -- The request that holds it, or has answered.
  holder uuid not null,
  -- Of the request that was answered.
  fingerprint text,
  -- Null while the request is under way.
  answer text,
  expires_at timestamptz not null,
  primary key (caller, operation, key),
  check ((answer is null) = (fingerprint is null))
) with (fillfactor = 70);
create index idempotency_key_expiry on idempotency_key (expires_at);
