// Sign-in at the token issuer: authorization code with PKCE. Only the secret of one sign-in is kept in the browser, until the
// issuer leads back to the page; tokens never are.

import * as oauth from 'oauth4webapi';
import { type Granted, SignInError } from './session.ts';
import type { ConsoleSettings } from './settings.ts';

type Issuer = NonNullable<ConsoleSettings['signIn']['oidc']>;

/** Under these names in the session storage of the tab. */
const PENDING = 'longshore.sign-in';
const RETURNING = 'longshore.signed-in';
/** Somebody waits for the end of the sign-out. */
const REVOCATION_MS = 3_000;
const LOOPBACK = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/;

interface Pending {
  readonly verifier: string;
  readonly state: string;
  readonly nonce: string;
  /** The page that the person wanted. */
  readonly hash: string;
  readonly silent: boolean;
}

const pageUrl = (): string => `${location.origin}${location.pathname}`;

/** True if this tab was signed in before it was reloaded. */
export const wasSignedIn = (): boolean => sessionStorage.getItem(RETURNING) !== null;

/** Leaves the page. @param silent the issuer asks the person nothing */
export const leaveForIssuer = (issuer: Issuer, silent = false): Promise<void> => asSignIn(leave(issuer, silent));

async function leave(issuer: Issuer, silent: boolean): Promise<void> {
  const server = await discovered(issuer);
  const pending: Pending = {
    verifier: oauth.generateRandomCodeVerifier(),
    state: oauth.generateRandomState(),
    nonce: oauth.generateRandomNonce(),
    ...{ hash: location.hash, silent },
  };
  sessionStorage.setItem(PENDING, JSON.stringify(pending));
  const url = new URL(endpoint(server.authorization_endpoint));
  const parameters = {
    response_type: 'code',
    client_id: issuer.clientId,
    redirect_uri: pageUrl(),
    scope: issuer.scopes,
    state: pending.state,
    nonce: pending.nonce,
    code_challenge: await oauth.calculatePKCECodeChallenge(pending.verifier),
    code_challenge_method: 'S256',
    ...(silent ? { prompt: 'none' } : {}),
  };
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
  location.assign(url);
  // The page is being left.
  await new Promise(() => {});
}

async function asSignIn<Value>(work: Promise<Value>): Promise<Value> {
  try {
    return await work;
  } catch (error) {
    const says = error instanceof oauth.AuthorizationResponseError ? (error.error_description ?? error.error) : '';
    throw new SignInError(says, error instanceof TypeError, error);
  }
}

/** What the issuer gives for the address that it led back to; undefined if it did not, or asks the person first. */
export const returnedFromIssuer = (issuer: Issuer): Promise<Granted | undefined> => asSignIn(returned(issuer));

async function returned(issuer: Issuer): Promise<Granted | undefined> {
  const stored = sessionStorage.getItem(PENDING);
  if (stored === null || location.search === '') return undefined;
  sessionStorage.removeItem(PENDING);
  const { verifier, state, nonce, hash, silent } = JSON.parse(stored) as Pending;
  const address = new URL(location.href);
  history.replaceState(null, '', `${pageUrl()}${hash}`);
  const server = await discovered(issuer);
  const client: oauth.Client = { client_id: issuer.clientId };
  let parameters: URLSearchParams;
  try {
    parameters = oauth.validateAuthResponse(server, client, address.searchParams, state);
  } catch (error) {
    sessionStorage.removeItem(RETURNING);
    if (silent) return undefined;
    throw error;
  }
  const none = oauth.None();
  const answer = await oauth.authorizationCodeGrantRequest(
    ...([server, client, none, parameters, pageUrl(), verifier] as const),
    trial(issuer),
  );
  const tokens = await oauth.processAuthorizationCodeResponse(server, client, answer, {
    expectedNonce: nonce,
    requireIdToken: issuer.scopes.split(' ').includes('openid'),
  });
  sessionStorage.setItem(RETURNING, 'yes');
  return granted(server, issuer, tokens, tokens.id_token);
}

function granted(
  server: oauth.AuthorizationServer,
  issuer: Issuer,
  { access_token, refresh_token }: oauth.TokenEndpointResponse,
  idToken: string | undefined,
): Granted {
  const client: oauth.Client = { client_id: issuer.clientId };
  return {
    token: access_token,
    ...(refresh_token === undefined
      ? {}
      : {
          renew: async () => {
            const answer = await oauth.refreshTokenGrantRequest(
              server,
              client,
              oauth.None(),
              refresh_token,
              trial(issuer),
            );
            const tokens = await oauth.processRefreshTokenResponse(server, client, answer);
            return granted(server, issuer, { refresh_token, ...tokens }, idToken);
          },
        }),
    leave: async () => {
      sessionStorage.removeItem(RETURNING);
      await revoked(server, issuer, [refresh_token, access_token]);
      if (server.end_session_endpoint === undefined) return;
      const url = new URL(server.end_session_endpoint);
      url.searchParams.set('client_id', issuer.clientId);
      url.searchParams.set('post_logout_redirect_uri', pageUrl());
      if (idToken !== undefined) url.searchParams.set('id_token_hint', idToken);
      location.assign(url);
    },
  };
}

/** As far as the issuer can: the sign-out goes on without it. */
async function revoked(
  server: oauth.AuthorizationServer,
  issuer: Issuer,
  tokens: readonly (string | undefined)[],
): Promise<void> {
  if (server.revocation_endpoint === undefined) return;
  const client: oauth.Client = { client_id: issuer.clientId };
  const options = { ...trial(issuer), signal: AbortSignal.timeout(REVOCATION_MS) };
  for (const token of tokens)
    if (token !== undefined)
      await oauth
        .revocationRequest(server, client, oauth.None(), token, options)
        .then(oauth.processRevocationResponse)
        .catch(() => undefined);
}

async function discovered({ issuer }: Pick<Issuer, 'issuer'>): Promise<oauth.AuthorizationServer> {
  const url = new URL(issuer);
  return oauth.processDiscoveryResponse(url, await oauth.discoveryRequest(url, trial({ issuer })));
}

/** Only an issuer on this machine, for trials, may do without TLS. */
function trial({ issuer }: Pick<Issuer, 'issuer'>): { readonly [oauth.allowInsecureRequests]?: boolean } {
  const { protocol, hostname } = new URL(issuer);
  return protocol === 'http:' && LOOPBACK.test(hostname) ? { [oauth.allowInsecureRequests]: true } : {};
}

function endpoint(url: string | undefined): string {
  if (url === undefined) throw new Error('the issuer names no authorization_endpoint');
  return url;
}
