// The beginning of a visit: who was signed in, or comes back from the issuer or with a one-time code, is signed in. The OIDC part
// is loaded only where an issuer is configured.

import { replace } from '../shell/route.ts';
import { type Granted, signIn, signInByCode } from './session.ts';
import type { ConsoleSettings } from './settings.ts';

type Issuer = NonNullable<ConsoleSettings['signIn']['oidc']>;

export const leaveForIssuer = async (issuer: Issuer): Promise<void> =>
  (await import('./oidc.ts')).leaveForIssuer(issuer);

export async function signInAtStart(ways: ConsoleSettings['signIn']): Promise<void> {
  if (!(await signInByLink(ways)) && ways.oidc) return signInByIssuer(ways.oidc);
}

/** Also for a link that is opened where the console is open already. False if the address has no code. */
export async function signInByLink({ code }: ConsoleSettings['signIn']): Promise<boolean> {
  const given = codeOf(location.hash);
  if (given === undefined) return false;
  // Out of the address before anything else, so that it is not in the browser's history.
  replace('');
  if (code) await signInByCode(given);
  return code;
}

/** The one-time code of `#/sign-in?code=...`. */
function codeOf(hash: string): string | undefined {
  if (!hash.startsWith('#/sign-in?')) return undefined;
  return new URLSearchParams(hash.slice(hash.indexOf('?'))).get('code') ?? undefined;
}

async function signInByIssuer(issuer: Issuer): Promise<void> {
  const { returnedFromIssuer, leaveForIssuer, wasSignedIn } = await import('./oidc.ts');
  const granted: Granted | undefined = await returnedFromIssuer(issuer);
  if (granted) {
    // Read again: the address of the page that the person wanted is back.
    dispatchEvent(new HashChangeEvent('hashchange'));
    return signIn(granted);
  }
  if (wasSignedIn()) return leaveForIssuer(issuer, true);
}
