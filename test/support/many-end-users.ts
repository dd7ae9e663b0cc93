// A million access requests for ten thousand datasets, with the people around them, in the schemas of a database.

import type { Sql } from '../../engine/adapters/postgres/postgres.ts';

/** `Many0` to `Many9999`; the studies are `S-Many0` and so on. */
export const CURATED = 10_000;
export const END_USERS = 1_000_000;
/** Those for `Many0`; the others are spread evenly. */
export const FOR_FIRST = 100_000;
/** Each of these has requests for nine datasets in a row: user FIRST_USER for Many1 to Many9, and so on. */
export const FIRST_USER = 2_000_000;
/** Each has a request for `Many0`. */
export const FIRST_OF_FIRST = 1_000_000;
/** Of whom every hundredth is an owner. */
export const STAFF = 10_000;
export const FIRST_STAFF = 3_000_000;
/** A manager and four others for each dataset; the manager of `Many7` is FIRST_PROVIDER + 7. */
export const PROVIDERS = 5 * CURATED;
export const FIRST_PROVIDER = 4_000_000;
export const HISTORY = 50_000;
export const ACCOUNTS = 100_000;

const CAUSE = `select set_config('longshore.cause_user', '0', true),
  set_config('longshore.cause_time', '2026-01-01T00:00:00Z', true)`;

const TERMS = `restriction_level, approval_status, start_date, duration, purpose, research_question, analysis_plan,
  dissemination_plan, prior_auth, denial_reason, date_denied, requested_at`;

/** Of the request number n: seven of ten are approved, two wait, one is denied. */
const VALUES = `'protected', s, now() - interval '10 days', case n % 3 when 0 then 365 else -1 end, 'To learn', 'Why?',
  'Look', 'Tell', 'None', case s when 'denied' then 'Not now' else '' end, case s when 'denied' then now() end,
  now() - (n % 100) * interval '1 hour'`;
const STATUS = `lateral (select coalesce((array['requested', 'requested', 'denied'])[n % 10 + 1], 'approved') as s) t`;

type Transaction = (work: (sql: Sql) => Promise<void>) => Promise<void>;

/** Fills the schema of dataset access: everything, and a part of the history. */
export function fillAccess(transaction: Transaction): Promise<void> {
  return transaction(async (sql) => {
    await sql.query(CAUSE);
    await sql.query(
      `insert into curated_dataset select 'Many' || n, 'S-Many' || n, 'abc', 'Study ' || n, 'S' || n, 'About ' || n,
         (array['public', 'prerelease', 'protected', 'controlled', 'private'])[n % 5 + 1],
         case when n % 50 = 2 then 4 else -1 end, '', '', '', '', ''
       from generate_series(0, ${CURATED - 1}) n order by hashint4(n)`,
    );
    await sql.query(
      `insert into staff (user_id, is_owner) select ${FIRST_STAFF} + n, n % 100 = 0 from generate_series(0, ${STAFF - 1}) n`,
    );
    await sql.query('alter table provider disable trigger provider_recorded');
    await sql.query(
      `insert into provider (user_id, dataset_id, is_manager)
       select ${FIRST_PROVIDER} + n, 'Many' || n % ${CURATED}, n < ${CURATED} from generate_series(0, ${PROVIDERS - 1}) n`,
    );
    await sql.query('alter table provider enable trigger provider_recorded');
    // History, references and indexes of a million rows, row by row, would take longer than all the rest.
    await sql.query('alter table end_user disable trigger end_user_recorded');
    await sql.query('alter table end_user drop constraint end_user_dataset_id_fkey');
    const indexes = await sql.query<{ name: string; definition: string }>(
      `select c.relname as name, pg_get_indexdef(c.oid) as definition from pg_index i join pg_class c on c.oid = i.indexrelid
       where i.indrelid = 'end_user'::regclass and not i.indisunique`,
    );
    for (const { name } of indexes) await sql.query(`drop index ${name}`);
    await sql.query(
      `insert into end_user (user_id, dataset_id, ${TERMS})
       select ${FIRST_OF_FIRST} + n, 'Many0', ${VALUES} from generate_series(0, ${FOR_FIRST - 1}) n, ${STATUS}`,
    );
    await sql.query(
      `insert into end_user (user_id, dataset_id, ${TERMS})
       select ${FIRST_USER} + n / 9, 'Many' || n % ${CURATED - 1} + 1, ${VALUES}
       from generate_series(0, ${END_USERS - FOR_FIRST - 1}) n, ${STATUS}`,
    );
    for (const { definition } of indexes) await sql.query(definition);
    await sql.query('alter table end_user add foreign key (dataset_id) references curated_dataset');
    await sql.query('alter table end_user enable trigger end_user_recorded');
    await sql.query(
      `insert into end_user_history (action, at, cause_user, dataset_id, before, after)
       select 'CREATE', now() - n * interval '1 second', e.user_id, e.dataset_id, null, to_jsonb(e)
       from generate_series(1, ${HISTORY}) n join end_user e on e.end_user_id = n * 20`,
    );
    await sql.query(
      `insert into invitation (email, kind, dataset_id, content, cause_user)
       select 'nobody' || n || '@many.example', 'provider', 'Many' || n % ${CURATED}, '{"isManager": false}', 0
       from generate_series(1, 20000) n`,
    );
    await sql.query(`insert into invited_address select email, now() - interval '1 hour' from invitation`);
    await sql.query(
      `insert into outbox (draft, due) select '{}', now() + interval '1 day' from generate_series(1, 20000)`,
    );
  });
}

/** Of these, FIRST_USER owns the first hundred and is a recipient of the next hundred. */
export const STUDIES = 20_000;

/** Fills the cache schema: accounts of those with requests after `Many0`, and installed datasets of users. */
export async function fillAccounts(sql: Sql): Promise<void> {
  await sql.query(
    `insert into account (user_id, first_name, last_name, email, affiliation, address_key)
     select ${FIRST_USER} + n, 'F' || n, 'L' || n, 'n' || n || '@many.example', 'Lab', 'n' || n || '@many.example' from generate_series(0, ${ACCOUNTS - 1}) n`,
  );
  await sql.query(
    `insert into dataset (dataset_id, owner_id, root_id, revision, state, type_name, type_version, metadata, visibility,
       name, created, upload_status, import_status)
     select 'study' || n, ${FIRST_USER} + n / 100, 'study' || n, 0, 'live', 'genelist', '1.0',
       '{"summary": "Some genes"}', case n when 5 then 'protected' else 'private' end, 'Genes', now() - n * interval '1 second', 'success', 'complete'
     from generate_series(0, ${STUDIES - 1}) n`,
  );
  await sql.query(
    `insert into dataset_share (dataset_id, recipient_id, offer, receipt)
     select 'study' || n, ${FIRST_USER} - 1 + n / 100, 'grant', 'accept' from generate_series(100, ${STUDIES - 1}) n`,
  );
  await sql.query(
    `insert into install_status (dataset_id, target_id, kind, status)
     select 'study' || n, 'AlphaDB', k, 'complete' from generate_series(0, ${STUDIES - 1}) n, unnest('{meta,data}'::text[]) k`,
  );
}
