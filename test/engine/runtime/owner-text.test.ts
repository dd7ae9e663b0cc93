import t from 'tap';
import { defect, rejected, transient } from '../../../engine/runtime/failure.ts';
import {
  callerText,
  outcomeText,
  ownerText,
  scriptText,
  withoutInternals,
} from '../../../engine/runtime/owner-text.ts';

const INTERNAL = 'an internal error; an administrator can see why';

/** As adapters word what went wrong, and what is left for users. */
const WORDED: readonly (readonly [string, string])[] = [
  [
    'POST http://127.0.0.1:8090/import: timeout, no response within 60000 ms',
    'POST an internal address: timeout, no response within 60000 ms',
  ],
  ['connect ECONNREFUSED 10.0.0.7:5432', 'connect ECONNREFUSED an internal address'],
  ['connect ECONNREFUSED ::1:5432', 'connect ECONNREFUSED an internal address'],
  ['connect ECONNREFUSED [fe80::1]:5432; again', 'connect ECONNREFUSED an internal address; again'],
  ['connect EHOSTUNREACH 2001:db8::7', 'connect EHOSTUNREACH an internal address'],
  ['getaddrinfo ENOTFOUND plugins.lab.internal', 'getaddrinfo ENOTFOUND'],
  ['queue broker rabbit.lab:5672: closed', 'queue broker an internal address: closed'],
  ['script /opt/longshore/bin/import ended with exit code 1', 'script import ended with exit code 1'],
  ["ENOSPC: no space left on device, write '/srv/sites/x y/f'", 'no space left on device'],
  [
    "at once: EXDEV: cross-device link not permitted, rename '/a b/c' -> '/d/e f'; again",
    'at once: cross-device link not permitted; again',
  ],
  ['EIO: i/o error, read', 'i/o error'],
  ['postgres://longshore:secret@db.lab/sites is away', 'an internal address is away'],
  ['attempt 1 of 12: busy (HTTP 503)', 'attempt 1 of 12: busy (HTTP 503)'],
  ['3/4 of it is text/plain', '3/4 of it is text/plain'],
];

t.test('where things are inside is not said', async (t) => {
  for (const [inside, told] of WORDED) t.equal(withoutInternals(inside), told);
});

t.test('what is about the user’s own data is said as it is', async (t) => {
  const message = "the URL http://data.example:8080/x answers 404; entry '/a/b' has an absolute path";
  t.equal(ownerText(rejected(message)), message);
  t.equal(outcomeText({ failure: 'rejected', message }), message);
});

t.test('what the user gave may be read again, beside it nothing', async (t) => {
  const message = 'http://data.example/a answered 503; connect ECONNREFUSED 10.0.0.7:80, http://data.example/a again';
  t.equal(
    outcomeText({ message }, 'http://data.example/a'),
    'http://data.example/a answered 503; connect ECONNREFUSED an internal address, http://data.example/a again',
  );
});

t.test('every other failure is told without the inside, and a defect not at all', async (t) => {
  const message = 'GET http://10.0.0.7:8090/x';
  t.equal(ownerText(transient(message)), 'GET an internal address');
  t.equal(outcomeText({ message }), 'GET an internal address');
  for (const error of [defect(message), new Error(message)]) t.equal(ownerText(error), INTERNAL);
  t.equal(outcomeText({ failure: 'defect', message }), INTERNAL);
});

t.test('what is full or away is told as such', async (t) => {
  const full = Object.assign(new Error("ENOSPC: no space left on device, copyfile '/a' -> '/b'"), { code: 'ENOSPC' });
  for (const [error, text] of [
    [full, /^the storage of the service is full/],
    [defect('x', { cause: full }), /^the storage of the service is full/],
    [transient('x', { lack: 'storage' }), /^the storage of the service cannot be reached/],
    [transient('x', { lack: 'database' }), /^a database of the service cannot be reached/],
  ] as const)
    t.match(ownerText(error), text);
});

t.test('a script that failed is told as such, and one that broke a rule is told which', async (t) => {
  const message = 'script /opt/genes/import ended with exit code 7';
  t.equal(
    scriptText({ message, exitCode: 7 }, 'import'),
    'the import script of the plugin failed; an administrator has the details',
  );
  const rule = 'the import script wrote no output files';
  for (const exitCode of [0, undefined]) t.equal(scriptText({ message: rule, exitCode }, 'import'), rule);
  const uninstall = rejected(`uninstall from SiteA: ${message}`, { script: { exitCode: 7 } });
  t.equal(ownerText(uninstall), 'the script of the plugin failed; an administrator has the details');
});

t.test('the caller of a service reads what failed, without the inside; foreign errors are not shown', async (t) => {
  t.equal(callerText(defect('command 1 (/bin/sh) ended with exit code 7')), 'command 1 (sh) ended with exit code 7');
  t.equal(callerText(rejected("entry '/a/b' has an absolute path")), "entry '/a/b' has an absolute path");
  t.equal(callerText(new TypeError('/srv/x is no function')), 'an internal error; see the log');
});
