// The contract of webhooks, and of mails about events, on the running program. What is sent, and to whom, is in webhooks.test.ts.

import { randomUUID } from 'node:crypto';
import { text } from 'node:stream/consumers';
import { Webhook } from 'standardwebhooks';
import t from 'tap';
import { world } from '../contract/world.ts';
import { LOOPBACK, remoteServer } from '../support/remote-server.ts';

const at = await world(t, { restService: { webhooks: { enabled: true, allowHttp: true, allow: [LOOPBACK] } } });
const { owner, friend, row } = at;

row('ours/webhooks', async (t) => {
  const received = Promise.withResolvers<{ body: string; headers: Record<string, string> }>();
  const receiver = await remoteServer(t, async (request, response) => {
    const body = await text(request);
    response.writeHead(204).end();
    received.resolve({ body, headers: request.headers as Record<string, string> });
  });
  const url = receiver.url(`/${randomUUID()}`).href;
  const created = await owner.send('POST', '/webhooks', { url, kinds: ['installed'] });
  t.equal(created.status, 201, created.text);
  const { webhookId, secret } = created.body as { webhookId: string; secret: string };
  const path = new URL(created.headers.get('location') ?? '').pathname;
  t.equal(path, `/webhooks/${webhookId}`);
  t.match((await owner.get('/webhooks')).body, { results: [{ webhookId, url, kinds: ['installed'] }] });
  t.notMatch((await owner.get('/webhooks')).text, secret);
  t.equal((await friend.get(path)).status, 404, 'another user');
  const rotated = await owner.send('POST', `${path}/rotate-secret`);
  t.equal(rotated.status, 200, rotated.text);
  const tested = await owner.send('POST', `${path}/test`);
  t.equal(tested.status, 202, tested.text);
  const { messageId } = tested.body as { messageId: string };
  const { body, headers } = await received.promise;
  t.equal(headers['webhook-id'], messageId);
  for (const one of [secret, (rotated.body as { secret: string }).secret])
    t.match(new Webhook(one).verify(body, headers), { type: 'webhook.test', data: { webhookId } });
  t.match((await owner.get(`${path}/deliveries`)).body, { results: [{ messageId, type: 'webhook.test' }] });
  t.match((await owner.send('PATCH', path, { state: 'disabled' })).body, { state: 'disabled' });
  t.equal((await owner.send('POST', `${path}/test`)).status, 409);
  t.match((await owner.get(path)).body, { reason: 'disabled by its owner' });
  t.equal((await owner.call('DELETE', path)).status, 204);
  t.equal((await owner.get(path)).status, 404);
});

row('ours/notifications', async (t) => {
  const path = '/users/self/notifications';
  t.strictSame((await owner.get(path)).body, { mail: [], mailsAreSent: true });
  const mail = ['installed', 'failed'];
  t.strictSame((await owner.send('PATCH', path, { mail })).body, { mail, mailsAreSent: true });
  t.strictSame((await owner.get(path)).body, { mail, mailsAreSent: true });
  t.strictSame((await friend.get(path)).body, { mail: [], mailsAreSent: true });
  t.equal((await owner.send('PATCH', path, { mail: ['access-denied'] })).status, 422);
});
