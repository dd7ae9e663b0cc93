// Two managers and the person change one request at once, hundreds of times, while two processes send the mails and the
// mail server is away for a minute.

import t, { type Test } from 'tap';
import { type AccessMailOptions, sendAccessMails } from '../../../actors/daemons/access-mail.ts';
import type { MailDraft } from '../../../engine/model/access-mail.ts';
import type { Outbox } from '../../../engine/ports/mail.ts';
import { readMail } from '../../support/read-mail.ts';
import { smtpServer } from '../../support/smtp-server.ts';
import { accessApp, enters, never, replace } from './access-app.ts';
import { disagreements } from './books.ts';
import { mailing } from './mailing.ts';

const ROUNDS = 400;
/** Of virtual time, between two rounds. */
const PAUSE_MS = 250;
const AWAY_FROM = 100;
const AWAY_MS = 60_000;

interface Patch {
  readonly who: '2' | '50' | '40';
  readonly items: readonly { readonly path: string; readonly value: unknown }[];
}

type Image = Readonly<Record<string, unknown>>;
interface Entry {
  readonly cause_user: string;
  readonly before: Image;
  readonly after: Image;
}

/** Columns by path; each value below is said once, so that it tells whose change it is. */
const COLUMNS: Readonly<Record<string, string>> = {
  ...{ '/purpose': 'purpose', '/priorAuth': 'prior_auth', '/researchQuestion': 'research_question' },
  ...{ '/analysisPlan': 'analysis_plan', '/disseminationPlan': 'dissemination_plan', '/duration': 'duration' },
  '/approvalStatus': 'approval_status',
};
/** What follows from the status, and the number of the change. */
const FOLLOWING = ['denial_reason', 'date_denied', 'requested_at', 'row_version'];

/** The person is refused while the request is not `requested`, the second manager while it is approved, the first never. */
const patchesOf = (round: number): readonly Patch[] => [
  {
    who: '2',
    items: [
      replace('/analysisPlan', `A ${round}`),
      ...(round % 4 === 3 ? [] : [replace('/approvalStatus', round % 4 === 0 ? 'approved' : 'denied')]),
    ],
  },
  {
    who: '50',
    items: [
      replace('/disseminationPlan', `B ${round}`),
      replace('/duration', round + 1),
      replace('/approvalStatus', 'requested'),
    ],
  },
  { who: '40', items: [replace('/purpose', `U ${round}`), replace('/priorAuth', `U ${round}`)] },
];

async function setup(t: Test) {
  const app = await accessApp(t);
  const server = await smtpServer(t);
  await app.call('1', 'POST', '/dataset-providers', { datasetId: 'private', userId: 50, isManager: true });
  for (const user of ['2', '40', '50']) await app.call(user, 'GET', '/permissions');
  await enters(app, 40, 'private', {});
  const drafts = new Map<string, MailDraft>();
  const daemons = [1, 2].map(() => {
    const options = mailing(t, app, server);
    return { options, daemon: sendAccessMails({ ...options, outbox: remembering(options.outbox, drafts) }) };
  });
  for (const { daemon } of daemons) await daemon.start(never);
  t.teardown(async () => {
    await Promise.all(daemons.map(({ daemon }) => daemon.stop(app.clock.now())));
  });
  return { app, server, drafts, daemons };
}

/** Keeps what each mail says, by its Message-ID. */
function remembering(outbox: Outbox, drafts: Map<string, MailDraft>): Outbox {
  const claim: Outbox['claim'] = async (...asked) => {
    const mails = await outbox.claim(...asked);
    for (const { messageKey, draft } of mails) drafts.set(`<${messageKey}@site.example>`, draft);
    return mails;
  };
  return new Proxy(outbox, {
    get: (of, name) => {
      const member: unknown = name === 'claim' ? claim : Reflect.get(of, name, of);
      return typeof member === 'function' ? member.bind(of) : member;
    },
  });
}

const retries = async ({ metrics }: AccessMailOptions): Promise<number> =>
  Number(/mails_total\{result="retry"\} (\d+)/.exec(await metrics.text())?.[1]);

t.test('no update is lost, the history tells each, and every mail of it arrives once', async (t) => {
  const { app, server, drafts, daemons } = await setup(t);
  const answers = new Map<string, number>();
  const accepted: Patch[] = [];
  let awayUntil = Number.POSITIVE_INFINITY;
  let arrivedBefore = 0;
  for (let round = 0; round < ROUNDS; round++) {
    if (round === AWAY_FROM) {
      server.away = true;
      awayUntil = app.clock.now() + AWAY_MS;
      arrivedBefore = server.mails.length;
    }
    if (server.away && app.clock.now() >= awayUntil) {
      // The one that was on its way when the server went.
      t.ok(server.mails.length <= arrivedBefore + 2, 'nothing arrives while the server is away');
      server.away = false;
    }
    await Promise.all(
      patchesOf(round).map(async (patch) => {
        const items = patch.items.map(({ path, value }) => replace(path, value));
        const { status } = await app.call(patch.who, 'PATCH', '/dataset-end-users/40-private', items);
        answers.set(`${patch.who} ${status}`, (answers.get(`${patch.who} ${status}`) ?? 0) + 1);
        if (status === 204) accepted.push(patch);
      }),
    );
    await app.clock.advance(PAUSE_MS);
  }
  t.strictSame([...answers.keys()].sort(), ['2 204', '40 204', '40 403', '50 204', '50 422'], 'all outcomes');
  for (const [answer, count] of answers) t.ok(count >= 20, `${answer}: ${count} times`);

  const entries = await app.db.query<Entry>(
    `select cause_user::text as cause_user, before, after from end_user_history where action = 'UPDATE'
     order by history_id`,
  );
  t.equal(entries.length, accepted.length, 'one entry for each change that was accepted');
  const faults = entries.flatMap((entry, i) => faultsOf(entry, accepted).map((fault) => `entry ${i}: ${fault}`));
  t.strictSame(faults, []);

  // How many steps that takes depends on how quickly the mail server answers.
  while ((await app.mails()).length > 0) await app.clock.advance(10_000);
  const ids = server.mails.map(({ content }) => readMail(content).head('message-id') ?? '');
  t.equal(new Set(ids).size, ids.length, 'no mail came twice');
  const sent = ids.flatMap((id) => drafts.get(id) ?? []);
  t.strictSame(
    await disagreements(app.db, sent),
    [],
    'a mail for each decision and for the newest edit, and for no other change',
  );
  for (const { options } of daemons) t.ok((await retries(options)) > 0, 'each process found the server away');
  t.comment(`${entries.length} changes, ${ids.length} mails`);
});

/** What is wrong with an entry: it must be exactly one accepted patch, applied to what was there. */
function faultsOf({ cause_user: cause, before, after }: Entry, accepted: readonly Patch[]): readonly string[] {
  const own = accepted.filter(({ who, items }) => who === cause && after[columnOf(items[0])] === items[0]?.value);
  const [patch, another] = own.filter(({ items }) => before[columnOf(items[0])] !== items[0]?.value);
  if (!patch || another) return [`it is no accepted change, or several, of user ${cause}`];
  const wanted = new Map<string, unknown>(patch.items.map((item) => [columnOf(item), item.value]));
  const wrong = [...wanted].filter(([column, value]) => after[column] !== value).map(([column]) => `${column} differs`);
  const touched = Object.keys(after).filter((column) => !wanted.has(column) && !FOLLOWING.includes(column));
  const lost = touched.filter((column) => after[column] !== before[column]).map((column) => `${column} was changed`);
  const late = cause === '40' && before.approval_status !== 'requested' ? ['the person may not any more'] : [];
  return [...wrong, ...lost, ...late];
}

const columnOf = (item: Patch['items'][number] | undefined): string => COLUMNS[item?.path ?? ''] ?? '';
