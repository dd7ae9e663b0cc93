import { readFileSync } from 'node:fs';
import t from 'tap';
import { calledLocally, groupNumber } from '../../../bin/compose/plugin-host.ts';

t.test('a group is found by its name, and a number is taken as it is', async (t) => {
  const [name = '', , id] = (readFileSync('/etc/group', 'utf8').split('\n')[0] ?? '').split(':');
  t.equal(await groupNumber('some.key', name), Number(id));
  t.equal(await groupNumber('some.key', '54321'), 54_321);
});

t.test('a group that is not there is named with its key', async (t) => {
  await t.rejects(groupNumber('some.key', 'no such group'), {
    message: "some.key: there is no group 'no such group' in /etc/group; a numeric group id is also allowed",
  });
});

t.test(
  'a plugin is called without HTTP if its address is that of the host in this process, and only then',
  async (t) => {
    const plugin = (host: string, port = 8084) => ({ server: { host, port } });
    const local = (inProcess: readonly string[], plugins: Readonly<Record<string, object>>, bindHost = '0.0.0.0') =>
      calledLocally({
        pluginHost: { inProcess, bindHost },
        containerCore: { ports: { pluginHost: 8084 } },
        installer: { plugins },
      } as unknown as Parameters<typeof calledLocally>[0]);
    const plugins = {
      ...{ four: plugin('127.0.0.1'), six: plugin('::1'), name: plugin('localhost'), bound: plugin('10.1.2.3') },
      ...{ port: plugin('127.0.0.1', 9999), elsewhere: plugin('plugins.example') },
    };
    const all = Object.keys(plugins);
    t.strictSame(local(all, plugins), ['four', 'six', 'name']);
    t.strictSame(local(all, plugins, '10.1.2.3'), ['four', 'six', 'name', 'bound']);
    t.strictSame(local(['six'], plugins), ['six']);
    t.strictSame(local(['unknown'], plugins), []);
    const none = { containerCore: { ports: { pluginHost: 8084 } }, installer: { plugins } };
    t.strictSame(calledLocally(none as unknown as Parameters<typeof calledLocally>[0]), []);
  },
);
