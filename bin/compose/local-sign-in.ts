// How people sign in to the web console of `longshore up`: its operator by the one-time code of a link that it prints, and, in a
// demo, sample users. Their tokens are those of `longshore token`, which end when their user signs out everywhere.

import { readFile } from 'node:fs/promises';
import type { Configuration } from '../../config/configuration.ts';
import { parseUserId, type UserId } from '../../engine/model/ids.ts';
import { decodeDocument } from '../../engine/model/utf8.ts';
import { codeOf, defect, messageOf, rejected } from '../../engine/runtime/failure.ts';
import { writeWhole } from '../../engine/runtime/files.ts';
import { systemClock } from '../../engine/runtime/time.ts';
import type { LocalSignIn } from '../../http/installer/console/console-routes.ts';
import { SignInCodes } from '../../http/installer/console/sign-in-codes.ts';
import { SignOuts, type SignOutTimes } from '../../http/kernel/auth/sign-outs.ts';
import { LIFETIME_SECONDS, localToken } from '../cli/local-token.ts';
import type { DataDir } from './data-dir.ts';

/** The first is the operator as well, and owns the dataset of the demo. */
const [OWNER, OTHER] = [
  { userId: userId('1'), givenName: 'Demo', familyName: 'User', about: 'owns the sample dataset' },
  { userId: userId('2'), givenName: 'Sam', familyName: 'Reader', about: 'asks others for their datasets' },
] as const;

/** Undefined if tokens come from an issuer elsewhere. @param show prints a link with the code */
export async function localSignIn(
  dir: DataDir,
  { containerCore: { authentication } }: Configuration,
  demo: boolean,
  show: (code: string) => void,
): Promise<LocalSignIn | undefined> {
  const { oauth, operators } = authentication ?? {};
  if (oauth?.publicKeyFile !== dir.tokenPublicKey) return undefined;
  const from = { tokenKey: dir.tokenKey, issuer: oauth.issuer, audience: oauth.audience };
  const tokenOf = (id: UserId, roles: Readonly<Record<string, string>>): Promise<string> => {
    const user = [OWNER, OTHER].find((one) => one.userId === id);
    if (!user) throw defect(`user ${id} is not one of those that sign in here`);
    const { givenName, familyName } = user;
    return localToken(from, { user: id, guest: false, givenName, familyName, roles });
  };
  const role = operators?.operator[0];
  return {
    codes: new SignInCodes(systemClock, show),
    samples: demo
      ? [OWNER, OTHER].map(({ userId, givenName, familyName, about }) => ({
          ...{ userId, about, name: `${givenName} ${familyName}` },
        }))
      : [],
    operatorToken: () => tokenOf(OWNER.userId, operators && role !== undefined ? { [operators.claim]: role } : {}),
    userToken: ({ userId }) => tokenOf(userId, {}),
    signOuts: new SignOuts({
      times: await readTimes(dir.signOuts),
      write: (times) => writeWhole(dir.signOuts, JSON.stringify(times), 0o600),
      lifetimeMs: LIFETIME_SECONDS * 1_000,
      clock: systemClock,
    }),
  };
}

async function readTimes(file: string): Promise<SignOutTimes> {
  try {
    return JSON.parse(decodeDocument(await readFile(file)) ?? '');
  } catch (cause) {
    if (codeOf(cause) === 'ENOENT') return {};
    throw rejected(
      `${file} cannot be read: ${messageOf(cause)}; without it, tokens of people who signed out work again`,
      {
        cause,
      },
    );
  }
}

function userId(text: string): UserId {
  const id = parseUserId(text);
  if (id === undefined) throw defect(`'${text}' is no user id`);
  return id;
}
