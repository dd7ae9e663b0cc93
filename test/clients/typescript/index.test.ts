// The client of clients/typescript against a service that answers as told. Against the running program: e2e/typescript-client.test.ts.

import t from 'tap';
import {
  datasetEvents,
  installerClient,
  LongshoreError,
  untilInstalled,
} from '../../../clients/typescript/src/index.ts';

const status = (data: string) => ({
  upload: { status: 'success' },
  import: { status: 'complete' },
  install: [{ installTarget: 'a', meta: { status: 'complete' }, data: { status: data } }],
});
const dataset = (data: string): Response => Response.json({ datasetId: 'd', status: status(data) });
const refusal = (code: number, headers: Record<string, string> = {}): Response =>
  Response.json({ status: 'no', message: `answered ${code}` }, { status: code, headers });
const stream = (text: string): Response => new Response(text, { headers: { 'content-type': 'text/event-stream' } });
const EVENT = 'id: 7\nevent: installed\ndata: {"id":7,"kind":"installed"}\n\n';

/** A service with one list of answers for datasets and one for streams; the last answer of each stays. */
function setup(answers: {
  readonly datasets?: readonly (() => Response)[];
  readonly streams: readonly (() => Response)[];
}) {
  const asked = { datasets: 0, streams: 0 };
  const installer = installerClient({
    url: 'http://longshore.test',
    fetch: async (request) => {
      const kind = new URL((request as Request).url).pathname.endsWith('/events') ? 'streams' : 'datasets';
      const all = answers[kind] ?? [];
      const answer = all[Math.min(asked[kind]++, all.length - 1)];
      if (!answer) throw new Error(`nothing is to be asked of ${kind}`);
      return answer();
    },
  });
  return { installer, asked };
}

t.test('a status that cannot be read now is read again with the next part of the stream', async (t) => {
  const { installer, asked } = setup({
    datasets: [
      () => dataset('running'),
      () => refusal(503),
      () => {
        throw new TypeError('fetch failed');
      },
      () => refusal(429, { 'retry-after': '1' }),
      () => dataset('complete'),
    ],
    streams: [() => stream(`${EVENT}:\n\n:\n\n:\n\n`)],
  });
  t.match(await untilInstalled(installer, 'd'), { datasetId: 'd' });
  t.same(asked, { datasets: 5, streams: 1 });
});

t.test('a dataset that has failed, or is gone meanwhile, ends the wait', async (t) => {
  const failed = setup({
    datasets: [() => dataset('running'), () => dataset('failed-installation')],
    streams: [() => stream(EVENT)],
  });
  await t.rejects(untilInstalled(failed.installer, 'd'), { message: 'dataset d failed: ' });
  const gone = setup({ datasets: [() => dataset('running'), () => refusal(410)], streams: [() => stream(EVENT)] });
  await t.rejects(untilInstalled(gone.installer, 'd'), { code: 410 });
  const away = setup({ datasets: [() => refusal(503)], streams: [] });
  await t.rejects(untilInstalled(away.installer, 'd'), { code: 503 }, 'the first answer counts');
});

t.test('a stream is opened again when the service says', async (t) => {
  const { installer, asked } = setup({
    streams: [() => refusal(429, { 'retry-after': '3' }), () => stream(`retry: 1\n\n${EVENT}`)],
  });
  const begun = Date.now();
  for await (const { kind } of datasetEvents(installer)) {
    t.equal(kind, 'installed');
    break;
  }
  t.ok(Date.now() - begun >= 2_900, 'not after two seconds, as otherwise');
  t.equal(asked.streams, 2);
});

t.test('an error says when to try again', (t) => {
  const after = (field?: string) =>
    new LongshoreError(
      new Response(null, { status: 503, headers: field === undefined ? {} : { 'retry-after': field } }),
      undefined,
    ).retryAfterMs;
  t.equal(after(), undefined);
  t.equal(after('17'), 17_000);
  t.equal(after('soon'), undefined);
  t.equal(after('Wed, 21 Oct 2015 07:28:00 GMT'), 0);
  const later = after(new Date(Date.now() + 60_000).toUTCString()) ?? 0;
  t.ok(later > 30_000 && later <= 60_000);
  t.end();
});
