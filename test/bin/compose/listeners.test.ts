import { once } from 'node:events';
import { createServer } from 'node:net';
import t, { type Test } from 'tap';
import { allCommands, type NamedCommand } from '../../../bin/cli/command-table.ts';
import { nextStep } from '../../../bin/cli/next-step.ts';
import { CannotListen, demandAddresses, listenersOf } from '../../../bin/compose/listeners.ts';
import type { Configuration } from '../../../config/configuration.ts';
import { freePort } from '../../support/ports.ts';

async function takenPort(t: Test): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  return (server.address() as { port: number }).port;
}

const host = '127.0.0.1';

t.test('addresses that can be had are had, again and again', async (t) => {
  const listeners = [{ name: 'installer', host, port: await freePort() }];
  await demandAddresses(listeners);
  await demandAddresses(listeners);
  t.pass();
});

t.test('every address that cannot be had is named, and what to do', async (t) => {
  const named = (name: string) => allCommands().find((one) => one.name === name) as NamedCommand;
  const [free, one, two] = [await freePort(), await takenPort(t), await takenPort(t)];
  const listeners = [
    { name: 'installer', host, port: one },
    { name: 'handler', host, port: free },
    { name: 'report', host, port: two },
    { name: 'access', host: '203.0.113.1', port: free },
  ];
  const message =
    `cannot listen on ${host}:${one} (installer): in use, ${host}:${two} (report): in use, ` +
    `203.0.113.1:${free} (access): EADDRNOTAVAIL`;
  await t.rejects(demandAddresses(listeners), { name: 'CannotListen', kind: 'rejected', message });
  t.match(nextStep(named('up'), new CannotListen(['x'])), '--port-base N');
  t.match(nextStep(named('serve'), new CannotListen(['x'])), 'in the configuration');
});

t.test('each front end that is configured has one', async (t) => {
  const ports = { installer: 1, handler: 2, report: 3, access: 4, pluginHost: 5 };
  const containerCore = { http: { bindHost: '::1' }, ports };
  const of = (sections: object): readonly object[] => listenersOf({ containerCore, ...sections } as Configuration);
  t.same(of({}), [{ name: 'installer', host: '::1', port: 1 }]);
  const all = {
    ...{ handler: { bindHost: 'a' }, report: {}, access: {} },
    pluginHost: { bindHost: 'b', inProcess: ['genes'] },
  };
  t.same(of(all), [
    { name: 'installer', host: '::1', port: 1 },
    { name: 'handler', host: 'a', port: 2 },
    { name: 'report', host: '::1', port: 3 },
    { name: 'access', host: '::1', port: 4 },
    { name: 'pluginHost', host: 'b', port: 5 },
  ]);
  const http = { bindHost: '::1', adminListener: { bindHost: 'c', port: 6 } };
  t.same(listenersOf({ containerCore: { http, ports } } as Configuration), [
    { name: 'installer', host: '::1', port: 1 },
    { name: 'admin', host: 'c', port: 6 },
  ]);
  t.same(of({ pluginHost: { bindHost: 'b', inProcess: [] } }).length, 1);
});
