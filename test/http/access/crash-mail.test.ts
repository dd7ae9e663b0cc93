// The daemon of the mails, with its line to the database cut at each of its statements, or its process killed there.

import t, { type Test } from 'tap';
import { type AccessMailOptions, sendDue } from '../../../actors/daemons/access-mail.ts';
import { EDIT_MAIL_BOUNDS } from '../../../engine/model/access-mail.ts';
import { aborted } from '../../../engine/runtime/failure.ts';
import { type Cut, postgresProxy } from '../../support/postgres-proxy.ts';
import { readMail } from '../../support/read-mail.ts';
import { smtpServer } from '../../support/smtp-server.ts';
import { type App, accessApp, enters, never, replace, serveAccess } from './access-app.ts';
import { mailing } from './mailing.ts';

/** Longer than a mail stays claimed by a process that is gone. */
const LONG_MS = 11 * 60_000;

async function setup(t: Test) {
  const healthy = await accessApp(t);
  const server = await smtpServer(t);
  const line = await postgresProxy(t, healthy.at);
  const cuttable = await serveAccess(t, { ...healthy.at, port: line.port }, healthy.clock);
  for (const user of ['1', '2', '40']) await healthy.call(user, 'GET', '/permissions');
  await enters(healthy, 40, 'private', {});
  const patch = (who: string, ...items: object[]) => healthy.call(who, 'PATCH', '/dataset-end-users/40-private', items);
  let round = 0;
  /** Three mails: two of an edit, one of a decision. */
  const queue = async (): Promise<void> => {
    // So long after the last edit its mails are due at once, and the author has some left for the day.
    await healthy.clock.advance(2 * EDIT_MAIL_BOUNDS.periodMs);
    await patch('40', replace('/purpose', `Round ${++round}`));
    await patch('2', replace('/approvalStatus', 'denied'));
    await patch('2', replace('/approvalStatus', 'requested'));
  };
  /** Message-IDs in the order in which they came, and all that the server has taken. */
  const came = () => server.mails.map(({ content }) => readMail(content).head('message-id') ?? '');
  const killable = mailing(t, cuttable, server);
  const { mailer } = killable;
  // A process that is dead sends nothing.
  const send: AccessMailOptions['mailer']['send'] = async (mail, signal) => {
    if (line.ended) throw aborted('the process is dead');
    return mailer.send(mail, signal);
  };
  return {
    ...{ healthy, line, server, queue, came },
    cuttable: { ...killable, mailer: { send, probe: (signal: AbortSignal) => mailer.probe(signal) } },
    whole: mailing(t, healthy, server),
  };
}

/** Runs it once while time goes on, so that what waits does not wait for ever; whether it ended well. */
async function run(options: AccessMailOptions, app: App): Promise<boolean> {
  const ending = new AbortController();
  let done: boolean | undefined;
  const running = sendDue(options, ending.signal).then(
    () => {
      done = true;
    },
    () => {
      done = false;
    },
  );
  // Whoever is dead waits for ever: not longer than until somebody else may send.
  const until = app.clock.now() + LONG_MS;
  while (done === undefined && app.clock.now() < until) {
    await app.db.query('select 1');
    if (app.clock.pending > 0) await app.clock.advanceToNext();
  }
  ending.abort(aborted('the process is dead'));
  await running;
  return done === true;
}

t.test(
  'what an outage of the database interrupts is sent once; what a killed process sent may come twice',
  async (t) => {
    const { healthy, line, server, queue, came, cuttable, whole } = await setup(t);
    await queue();
    line.watch();
    await sendDue(cuttable, never);
    t.equal(server.mails.length, 3);
    const statements = [...line.statements];
    const recorded = statements.flatMap((text, i) => (text.startsWith('delete from outbox') ? [i + 1] : []));
    t.equal(recorded.length, 3);
    for (let at = 1; at <= statements.length; at++)
      for (const when of ['before', 'after'] as const)
        for (const ends of ['connection', 'process'] as const) {
          const cut: Cut = { at, when, ends };
          const name = `${ends} ends ${when} ${at} of ${statements.length}`;
          await queue();
          const keys = await healthy.db.query<{ id: string }>(
            "select '<' || message_key || '@site.example>' as id from outbox order by mail_id",
          );
          const before = server.mails.length;
          line.cut(cut);
          await run(cuttable, healthy);
          t.ok(line.struck, name);
          const survivor = ends === 'process' ? whole : cuttable;
          if (ends === 'connection') line.watch();
          // At most: what was claimed waits until nobody can be sending it any more, and there are three of them.
          for (let i = 0; i < 4; i++) {
            await run(survivor, healthy);
            await healthy.clock.advance(LONG_MS);
          }
          line.watch();
          t.strictSame(await healthy.mails(), [], `${name}: nothing waits`);
          const ids = came().slice(before);
          t.strictSame([...new Set(ids)].sort(), keys.map(({ id }) => id).sort(), `${name}: each came`);
          const repeated = ends === 'process' && when === 'before' && recorded.includes(at);
          t.equal(ids.length, repeated ? 4 : 3, `${name}: ${repeated ? 'the one in flight twice' : 'once'}`);
          while (!(await run(cuttable, healthy)));
        }
  },
);
