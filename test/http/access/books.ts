// Whether what the service keeps agrees with itself: rows with their histories and their counts, and histories with the
// mails that were queued with them.

import type { Postgres } from '../../../engine/adapters/postgres/postgres.ts';
import type { MailDraft } from '../../../engine/model/access-mail.ts';

interface HistoryRow {
  readonly action: 'CREATE' | 'UPDATE' | 'DELETE';
  readonly cause_user: string;
  readonly before: Image | null;
  readonly after: Image | null;
}

interface Image {
  readonly user_id: number;
  readonly dataset_id: string;
  readonly approval_status: string;
  readonly purpose: string;
  readonly research_question: string;
  readonly analysis_plan: string;
  readonly dissemination_plan: string;
  readonly prior_auth: string;
  readonly denial_reason: string;
  readonly start_date: string;
}

/** Every row follows from its history: one entry per change, each from where the one before it led. */
const CHAINS = `
  with entry as (
    select 'end_user' as kind, history_id as n, action, before, after,
      coalesce(after, before) ->> 'end_user_id' as id from end_user_history
    union all
    select kind, audit_id, action, before, after, coalesce(after, before) ->> (kind || '_id') from people_audit
  ), chained as (
    select *, lag(after) over chain as previous, row_number() over chain as place, lead(n) over chain is null as is_last
    from entry window chain as (partition by kind, id order by n)
  ), kept as (
    select 'end_user' as kind, end_user_id::text as id, to_jsonb(end_user) as image from end_user
    union all select 'staff', staff_id::text, to_jsonb(staff) from staff
    union all select 'provider', provider_id::text, to_jsonb(provider) from provider
  )
  select kind || ' ' || id || ': entry ' || n || ' does not follow from the one before it' as fault from chained
    where before is distinct from previous or (action = 'CREATE') <> (place = 1) or (action = 'DELETE' and not is_last)
  union all
  select kind || ' ' || id || ': entry ' || n || ' is not change ' || place from chained
    where kind = 'end_user' and after is not null and (after ->> 'row_version')::int <> place
  union all
  select coalesce(c.kind, k.kind) || ' ' || coalesce(c.id, k.id) || ': the row is not as its last entry says'
    from (select * from chained where is_last) c full join kept k on k.kind = c.kind and k.id = c.id
    where c.after is distinct from k.image`;

/** What lists say of how many there are. */
const COUNTS = `
  select 'the count of staff is ' || staff as fault from people_count
    where staff <> case dataset_id when '' then (select count(*) from staff) else 0 end
  union all
  select 'the counts of ''' || c.dataset_id || ''' are wrong' from people_count c
    where providers <> case dataset_id when '' then 0
        else (select count(*) from provider p where p.dataset_id = c.dataset_id) end
      or (requested, approved, denied) <>
        (select count(*) filter (where approval_status = 'requested'), count(*) filter (where approval_status = 'approved'),
          count(*) filter (where approval_status = 'denied') from end_user e where c.dataset_id in (e.dataset_id, ''))`;

/** What does not agree; mails that were sent already have to be handed in. */
export async function disagreements(db: Postgres, sent: readonly MailDraft[] = []): Promise<readonly string[]> {
  const wrong = await db.query<{ fault: string }>(`${CHAINS} union all ${COUNTS}`);
  const queued = await db.query<{ draft: MailDraft }>('select draft from outbox');
  const found = [...sent, ...queued.map(({ draft }) => draft)].flatMap((draft) => ('request' in draft ? [draft] : []));
  const history = await db.query<HistoryRow>(
    'select action, cause_user::text as cause_user, before, after from end_user_history order by history_id',
  );
  const wanted = history.flatMap(mailsOf);
  const [lost, extra] = difference(wanted, found.map(keyOf));
  // Of edits by users the newest is told; those before it may have been told by the same mail.
  const told = (key: string): boolean => isEdit(key) && wanted.findLast((one) => aboutOf(one) === aboutOf(key)) !== key;
  const missing = lost.filter((key) => !told(key));
  return [
    ...wrong.map(({ fault }) => fault),
    ...missing.map((key) => `no mail: ${key}`),
    ...extra.map((key) => `a mail of no change, or once more: ${key}`),
  ];
}

/** What must have been queued with this change. */
function mailsOf({ action, cause_user: cause, before, after }: HistoryRow): readonly string[] {
  if (action !== 'UPDATE' || !before || !after) return [];
  if (cause === String(after.user_id))
    return ['edit-managers', 'edit-requester'].map((template) => key(template, after));
  const { approval_status: status } = after;
  return status !== before.approval_status && status !== 'requested' ? [key(status, after)] : [];
}

const aboutOf = (key: string): string => JSON.stringify((JSON.parse(key) as unknown[]).slice(0, 3));
const isEdit = (key: string): boolean => key.startsWith('["edit-');

const key = (template: string, image: Image): string =>
  JSON.stringify([
    ...[template, String(image.user_id), image.dataset_id, new Date(image.start_date).toISOString()],
    ...[image.purpose, image.research_question, image.analysis_plan, image.dissemination_plan],
    ...[image.prior_auth, image.denial_reason],
  ]);

function keyOf({ template, datasetId, request }: Extract<MailDraft, { readonly request: object }>): string {
  const { userId, purpose, researchQuestion, analysisPlan, disseminationPlan, priorAuth, denialReason } = request;
  return JSON.stringify([
    ...[template, userId, datasetId, new Date(request.startDate).toISOString()],
    ...[purpose, researchQuestion, analysisPlan, disseminationPlan, priorAuth, denialReason],
  ]);
}

/** What is in one and not in the other, counted. */
function difference(wanted: readonly string[], found: readonly string[]): readonly [string[], string[]] {
  const left = new Map<string, number>();
  for (const one of wanted) left.set(one, (left.get(one) ?? 0) + 1);
  for (const one of found) left.set(one, (left.get(one) ?? 0) - 1);
  const where = (test: (count: number) => boolean): string[] =>
    [...left].filter(([, count]) => test(count)).map(([one]) => one);
  return [where((count) => count > 0), where((count) => count < 0)];
}

/** How many of each there are: what a change adds shows as the difference. */
export async function counts(db: Postgres): Promise<Readonly<Record<string, number>>> {
  const [row] = await db.query<Record<string, number>>(`
    select (select count(*) from end_user_history) as history, (select count(*) from people_audit) as audit,
      (select count(*) from outbox) as outbox, (select count(*) from invitation) as invitations,
      (select count(*) from invited_address) as addresses`);
  return row ?? {};
}
