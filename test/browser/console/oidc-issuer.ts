// A small OIDC issuer on this machine: discovery, authorization code with PKCE, refresh tokens that work once, revocation, and the
// end of the session. It asks nobody: who goes to it is signed in at once, until they sign out here.

import { createHash, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from 'jose';
import { remoteServer } from '../../support/remote-server.ts';

export const CLIENT_ID = 'longshore-console';
export const AUDIENCE = 'longshore';
const ALG = 'ES256';

export interface OidcIssuer {
  readonly url: string;
  /** Of the access tokens from now on. */
  lifetimeSeconds: number;
  /** What is wrong with the next answers. */
  wrong: 'state' | 'nonce' | undefined;
  /** The browser is signed in here. */
  readonly hasSession: boolean;
  /** All access tokens, and how often one was renewed. */
  readonly issued: readonly string[];
  readonly renewals: number;
  /** Tokens that were revoked. */
  readonly revoked: readonly string[];
  /** Why requests were refused. */
  readonly refused: readonly string[];
  /** `prompt` of the sign-ins. */
  readonly prompts: readonly (string | null)[];
}

/** One sign-in, until its code is used. */
interface Started {
  readonly challenge: string;
  readonly redirectUri: string;
  readonly nonce: string;
}

/** @param redirectUri the only one that is registered */
export async function oidcIssuer(t: { teardown(fn: () => unknown): void }, redirectUri: string): Promise<OidcIssuer> {
  const { privateKey, publicKey } = await generateKeyPair(ALG);
  const key = { ...(await exportJWK(publicKey)), kid: 'one', alg: ALG, use: 'sig' };
  const started = new Map<string, Started>();
  const refreshTokens = new Set<string>();
  const [issued, refused, revoked, prompts]: [string[], string[], string[], (string | null)[]] = [[], [], [], []];
  const state = {
    url: '',
    lifetimeSeconds: 3_600,
    wrong: undefined as OidcIssuer['wrong'],
    hasSession: false,
    renewals: 0,
    ...{ issued, refused, revoked, prompts },
  };
  const signed = (claims: JWTPayload, audience: string, seconds: number): Promise<string> =>
    new SignJWT({ ...claims, jti: randomUUID() })
      .setProtectedHeader({ alg: ALG, kid: 'one' })
      .setIssuer(state.url)
      .setSubject('42')
      .setAudience(audience)
      .setIssuedAt()
      .setExpirationTime(`${seconds} s`)
      .sign(privateKey);

  const authorize = (asked: URLSearchParams, response: ServerResponse): void => {
    const wanted = {
      response_type: 'code',
      client_id: CLIENT_ID,
      redirect_uri: redirectUri,
      code_challenge_method: 'S256',
    };
    const other = Object.entries(wanted).find(([name, value]) => asked.get(name) !== value);
    if (other) {
      refuse(response, `${other[0]} is ${asked.get(other[0])}`);
      return;
    }
    const back = new URL(redirectUri);
    back.searchParams.set('state', state.wrong === 'state' ? 'another' : (asked.get('state') ?? ''));
    prompts.push(asked.get('prompt'));
    if (asked.get('prompt') === 'none' && !state.hasSession) back.searchParams.set('error', 'login_required');
    else {
      state.hasSession = true;
      const code = randomUUID();
      started.set(code, {
        ...{ redirectUri, challenge: asked.get('code_challenge') ?? '' },
        nonce: state.wrong === 'nonce' ? 'another' : (asked.get('nonce') ?? ''),
      });
      back.searchParams.set('code', code);
    }
    response.writeHead(302, { location: back.href }).end();
  };

  const refuse = (response: ServerResponse, why: string): void => {
    refused.push(why);
    response.writeHead(400, JSON_TYPE).end(JSON.stringify({ error: 'invalid_grant', error_description: why }));
  };

  const tokens = async (response: ServerResponse, nonce?: string): Promise<void> => {
    const token = await signed({ given_name: 'Ada', family_name: 'Lovelace' }, AUDIENCE, state.lifetimeSeconds);
    const refreshToken = randomUUID();
    refreshTokens.add(refreshToken);
    issued.push(token);
    const answer = {
      ...{ access_token: token, token_type: 'Bearer', expires_in: state.lifetimeSeconds, refresh_token: refreshToken },
      ...(nonce === undefined ? {} : { id_token: await signed({ nonce }, CLIENT_ID, 300) }),
    };
    response.writeHead(200, JSON_TYPE).end(JSON.stringify(answer));
  };

  const grant = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const form = new URLSearchParams(await bodyOf(request));
    if (form.get('client_id') !== CLIENT_ID) return refuse(response, `client_id is ${form.get('client_id')}`);
    if (form.get('grant_type') === 'refresh_token') {
      if (!refreshTokens.delete(form.get('refresh_token') ?? '')) return refuse(response, 'refresh token used twice');
      state.renewals += 1;
      return tokens(response);
    }
    const code = form.get('code') ?? '';
    const start = started.get(code);
    started.delete(code);
    if (!start) return refuse(response, 'unknown code');
    const challenge = createHash('sha256')
      .update(form.get('code_verifier') ?? '')
      .digest('base64url');
    if (challenge !== start.challenge) return refuse(response, 'wrong code_verifier');
    if (form.get('redirect_uri') !== start.redirectUri) return refuse(response, 'another redirect_uri');
    return tokens(response, start.nonce);
  };

  const revoke = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const token = new URLSearchParams(await bodyOf(request)).get('token') ?? '';
    refreshTokens.delete(token);
    revoked.push(token);
    response.writeHead(200).end();
  };

  const endSession = (asked: URLSearchParams, response: ServerResponse): void => {
    const to = asked.get('post_logout_redirect_uri');
    if (to !== redirectUri) refuse(response, `post_logout_redirect_uri is ${to}`);
    else if (!asked.has('id_token_hint')) refuse(response, 'no id_token_hint');
    else {
      state.hasSession = false;
      response.writeHead(302, { location: to }).end();
    }
  };

  const server = await remoteServer(t, (request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '', state.url);
    // As issuers do for the origins of their public clients.
    response.setHeader('access-control-allow-origin', new URL(redirectUri).origin);
    if (pathname === '/.well-known/openid-configuration') response.writeHead(200, JSON_TYPE).end(discovery(state.url));
    else if (pathname === '/keys') response.writeHead(200, JSON_TYPE).end(JSON.stringify({ keys: [key] }));
    else if (pathname === '/authorize') authorize(searchParams, response);
    else if (pathname === '/token') void grant(request, response);
    else if (pathname === '/revoke') void revoke(request, response);
    else if (pathname === '/end-session') endSession(searchParams, response);
    else refuse(response, `no page ${pathname}`);
  });
  state.url = server.url('').origin;
  return state;
}

const JSON_TYPE = { 'content-type': 'application/json' };

const discovery = (url: string): string =>
  JSON.stringify({
    issuer: url,
    authorization_endpoint: `${url}/authorize`,
    token_endpoint: `${url}/token`,
    jwks_uri: `${url}/keys`,
    revocation_endpoint: `${url}/revoke`,
    end_session_endpoint: `${url}/end-session`,
    response_types_supported: ['code'],
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: [ALG],
    code_challenge_methods_supported: ['S256'],
  });

async function bodyOf(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  request.on('data', (part: Buffer) => parts.push(part));
  await once(request, 'end');
  return Buffer.concat(parts).toString();
}
