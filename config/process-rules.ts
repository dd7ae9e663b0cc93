// Rules of the sections besides `installer`, and of values that must be in order.

import { LOCAL_ISSUER } from '../engine/model/ids.ts';
import { parseDuration } from '../engine/runtime/duration.ts';
import type { Cursor } from './path.ts';
import type { Finding } from './validate.ts';

/** @param asWritten the document before defaults were filled in */
export function processRules(root: Cursor, asWritten: Cursor): readonly Finding[] {
  return [
    ...handlerPort(asWritten),
    ...distinctPorts(root),
    ...hostedPlugins(root),
    ...mailedAccess(root),
    ...foreignIssuer(root),
    ...ORDERED.flatMap(([lower, higher, orEqual]) => inOrder(root, lower, higher, orEqual)),
    ...root
      .at('installer', 'lanes')
      .entries()
      .flatMap(([name]) =>
        inOrder(root, `installer.lanes.${name}.retry.base`, `installer.lanes.${name}.retry.max`, true),
      ),
  ];
}

/** The lower key, the higher key, and whether they may be equal. */
const ORDERED: readonly (readonly [string, string, boolean])[] = [
  ['mail.retry.base', 'mail.retry.max', true],
  ['installer.logBroker.consumers.heartbeatInterval', 'installer.logBroker.consumers.sessionTimeout', false],
  ['installer.logBroker.consumers.reconnectBackoffTime', 'installer.logBroker.consumers.reconnectBackoffMaxTime', true],
  ['installer.logBroker.producers.reconnectBackoffTime', 'installer.logBroker.producers.reconnectBackoffMaxTime', true],
];

function inOrder(root: Cursor, lowerPath: string, higherPath: string, orEqual: boolean): readonly Finding[] {
  const [lower, higher] = [root.at(...lowerPath.split('.')), root.at(...higherPath.split('.'))];
  const low = parseDuration(lower.text ?? '');
  const high = parseDuration(higher.text ?? '');
  if (low === undefined || high === undefined || low < high || (orEqual && low === high)) return [];
  return [
    {
      path: higher.path,
      found: `${JSON.stringify(higher.text)} beside ${JSON.stringify(lower.text)} as ${lowerPath}`,
      allowed: orEqual ? 'at least as long as that' : 'longer than that',
    },
  ];
}

function handlerPort(asWritten: Cursor): readonly Finding[] {
  const own = asWritten.at('handler', 'port');
  const listed = asWritten.at('containerCore', 'ports', 'handler');
  if (own.number === undefined || listed.number === undefined || own.number === listed.number) return [];
  return [
    { path: listed.path, found: `${listed.number}, but \`handler.port\` is ${own.number}`, allowed: 'the same port' },
  ];
}

function distinctPorts(root: Cursor): readonly Finding[] {
  const ports = root.at('containerCore', 'ports');
  const served = [
    ['installer', ports.at('installer'), root.at('installer').present],
    ['handler', root.at('handler', 'port'), true],
    ['report', ports.at('report'), root.at('report').present],
    ['access', ports.at('access'), root.at('access').present],
    ['pluginHost', ports.at('pluginHost'), root.at('pluginHost', 'inProcess').items().length > 0],
  ] as const;
  const first = new Map<number, string>();
  return served.flatMap(([name, port, isServed]) => {
    if (!isServed || port.number === undefined) return [];
    const earlier = first.get(port.number);
    if (earlier === undefined) first.set(port.number, name);
    return earlier === undefined
      ? []
      : [
          {
            path: port.path,
            found: `${port.number}, the port of ${earlier} too`,
            allowed: 'a port of its own per front end',
          },
        ];
  });
}

function hostedPlugins(root: Cursor): readonly Finding[] {
  const known = root
    .at('installer', 'plugins')
    .entries()
    .map(([name]) => name);
  if (known.length === 0) return [];
  return root
    .at('pluginHost', 'inProcess')
    .items()
    .filter((name) => name.text !== undefined && !known.includes(name.text))
    .map((name) => ({
      path: name.path,
      found: `${JSON.stringify(name.text)}, which is no plugin`,
      allowed: `one of ${known.join(', ')}`,
    }));
}

/** Another program's issuer also signs tokens for other services. Without an audience, we would accept those. */
function foreignIssuer(root: Cursor): readonly Finding[] {
  const oauth = root.at('containerCore', 'authentication', 'oauth');
  const issuer = oauth.at('issuer').text;
  const own = issuer === LOCAL_ISSUER || oauth.at('privateKeyFile').present;
  if (issuer === undefined || own || oauth.at('audience').present) return [];
  return [
    {
      path: [...oauth.path, 'audience'],
      found: 'nothing',
      allowed: `the audience that ${JSON.stringify(issuer)} writes into tokens for this service`,
    },
  ];
}

function mailedAccess(root: Cursor): readonly Finding[] {
  const access = root.at('access');
  if (!access.present || !root.at('mail').present) return [];
  return ['siteUrl', 'supportEmail']
    .filter((key) => !access.at(key).present)
    .map((key) => ({
      path: [...access.path, key],
      found: 'nothing',
      allowed: `a value, because \`mail\` sends the mails of this service`,
    }));
}
