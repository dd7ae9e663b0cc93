// What the web console asks this server besides the API: where the services are and how people sign in, who the caller is, and,
// under `longshore up`, tokens for a one-time code or for a sample user, and their end.

import type { Static } from 'typebox';
import type { Profile } from '../../../engine/ports/access-people.ts';
import type { SignOuts } from '../../kernel/auth/sign-outs.ts';
import type { TokenGuesses } from '../../kernel/auth/token-guesses.ts';
import { checkedJsonBody } from '../../kernel/bodies/body.ts';
import { Type, UserIdOutput } from '../../kernel/openapi/schema-node.ts';
import type { RequestContext } from '../../kernel/pipeline/context.ts';
import { forbidden } from '../../kernel/pipeline/errors.ts';
import { answer, type Route, refusals } from '../../kernel/pipeline/route.ts';
import { CLOSED } from '../metadata/create-details.ts';
import { type ConsolePageOptions, consolePageRoutes } from './console-page.ts';
import type { SignInCodes } from './sign-in-codes.ts';

const SampleUser = Type.Object({ userId: UserIdOutput, name: Type.String(), about: Type.String() });
type SampleUser = Static<typeof SampleUser>;

const ServiceUrl = Type.Optional(
  Type.String({ format: 'uri', description: 'Absent = it is not part of this installation' }),
);
const ConsoleSettings = Type.Named('ConsoleSettings', {
  product: Type.String(),
  version: Type.String(),
  services: Type.Object({ access: ServiceUrl, report: ServiceUrl }),
  signIn: Type.Object({
    oidc: Type.Optional(
      Type.Object({ issuer: Type.String({ format: 'uri' }), clientId: Type.String(), scopes: Type.String() }),
    ),
    code: Type.Boolean({ description: 'Whether one-time codes are accepted' }),
    sampleUsers: Type.Array(SampleUser),
    everywhere: Type.Boolean({ description: 'Whether people can sign out everywhere' }),
  }),
});
type ConsoleSettings = Static<typeof ConsoleSettings>;

const ConsoleSelf = Type.Named('ConsoleSelf', {
  userId: UserIdOutput,
  firstName: Type.String(),
  lastName: Type.String(),
  role: Type.Enum(['guest', 'user', 'observer', 'operator']),
});
type ConsoleSelf = Static<typeof ConsoleSelf>;

const SignInInput = Type.Named('SignInInput', { code: Type.String({ minLength: 1, maxLength: 200 }) }, CLOSED);
const SampleSignInInput = Type.Named('SampleSignInInput', { user: Type.String({ maxLength: 20 }) }, CLOSED);
const SignedIn = Type.Named('SignedIn', { token: Type.String({ description: 'A bearer token' }) });

/** Of an `up` alone: it has the key of its token issuer, and the only process that verifies tokens. */
export interface LocalSignIn {
  readonly codes: SignInCodes;
  /** Those of a demo; anybody on this machine may be one of them. */
  readonly samples: readonly SampleUser[];
  operatorToken(): Promise<string>;
  userToken(user: SampleUser): Promise<string>;
  readonly signOuts: Pick<SignOuts, 'signOut' | 'refusing'>;
}

export interface ConsoleOptions extends Omit<ConsolePageOptions, 'calls'> {
  readonly version: string;
  readonly oidc: ConsoleSettings['signIn']['oidc'];
  /** Origins of the issuer's endpoints. */
  readonly issuerOrigins: readonly string[];
  /** URLs of the services for somebody who reaches the installer at this URL. */
  readonly services: (installerUrl: string) => ConsoleSettings['services'];
  readonly local: LocalSignIn | undefined;
  readonly guesses: TokenGuesses;
}

export function consoleRoutes(options: ConsoleOptions): readonly Route[] {
  const { product, version, oidc, local } = options;
  const services = (context: RequestContext): ConsoleSettings['services'] => options.services(context.publicUrl);
  const calls = (context: RequestContext): readonly string[] => [
    ...Object.values(services(context)).map((url) => new URL(url).origin),
    ...options.issuerOrigins,
  ];
  const settings = (context: RequestContext): ConsoleSettings => ({
    ...{ product, version, services: services(context) },
    signIn: {
      ...(oidc ? { oidc } : {}),
      ...{ code: local !== undefined, sampleUsers: [...(local?.samples ?? [])], everywhere: local !== undefined },
    },
  });
  return [
    ...consolePageRoutes({ ...options, calls }),
    {
      method: 'GET',
      audit: 'none',
      path: '/console/settings.json',
      access: 'open',
      operationId: 'getConsoleSettings',
      summary: 'What the web console needs to know before somebody signs in',
      responses: { 200: answer('URLs of the services, and ways to sign in', ConsoleSettings) },
      handler: (context) => context.json(200, settings(context)),
    },
    {
      method: 'GET',
      audit: 'none',
      path: '/console/self',
      access: 'user-or-guest',
      operationId: 'getConsoleSelf',
      summary: 'Who the caller is, and in which role',
      responses: { 200: answer('The caller', ConsoleSelf), ...refusals({}) },
      handler: (context) => context.json(200, selfOf(context)),
    },
    ...(local ? localSignInRoutes(local, options.guesses) : []),
  ];
}

function selfOf({ caller }: RequestContext): ConsoleSelf {
  if (caller.kind !== 'user' && caller.kind !== 'guest') throw forbidden('this needs a user');
  const { userId, firstName, lastName }: Profile = caller.profile;
  return { userId, firstName, lastName, role: caller.kind === 'guest' ? 'guest' : (caller.role ?? 'user') };
}

const SIGN_IN = { method: 'POST', servedWhenFull: true, access: 'open' } as const;
const REFUSED = refusals({
  403: 'The code is wrong, used or expired, or the page is not of this machine',
  415: 'The body is not JSON',
  422: 'The body is invalid',
});

function localSignInRoutes(local: LocalSignIn, guesses: TokenGuesses): readonly Route[] {
  const readCode = checkedJsonBody(SignInInput, { notAnObject: 422 });
  const readSample = checkedJsonBody(SampleSignInInput, { notAnObject: 422 });
  const signIn: Route = {
    ...SIGN_IN,
    path: '/console/sign-in',
    operationId: 'signInByCode',
    summary: 'Exchanges the one-time code that `longshore up` shows for a token of its operator',
    body: { description: 'The code', content: { 'application/json': SignInInput } },
    responses: { 200: answer('A token', SignedIn), ...REFUSED },
    handler: async (context) => {
      const { code } = await readCode(context.request);
      guesses.demand(context.request, 'sign-in code');
      const verdict = local.codes.use(code);
      if (verdict === 'wrong') guesses.wrong(context.request, signIn, 'sign-in code');
      if (verdict !== 'right')
        throw forbidden(
          verdict === 'stale'
            ? 'this sign-in link was used or has expired; the terminal of longshore up shows a new one'
            : 'the sign-in code is wrong',
        );
      await context.json(200, { token: await local.operatorToken() });
    },
  };
  const sample: Route = {
    ...SIGN_IN,
    path: '/console/sample-sign-in',
    operationId: 'signInAsSample',
    summary: 'Gives a token of a sample user of `longshore up --demo`',
    body: { description: 'One of the sample users', content: { 'application/json': SampleSignInInput } },
    responses: { 200: answer('A token', SignedIn), ...REFUSED },
    handler: async (context) => {
      const { user: id } = await readSample(context.request);
      // A site elsewhere may have a name that leads to this machine.
      if (!LOOPBACK.test(new URL(context.publicUrl).hostname))
        throw forbidden('sample users are for this machine only');
      const user = local.samples.find((one) => one.userId === id);
      if (!user) throw forbidden(`user ${id} is not a sample user`);
      await context.json(200, { token: await local.userToken(user) });
    },
  };
  const signOut: Route = {
    method: 'POST',
    servedWhenFull: true,
    path: '/console/sign-out-everywhere',
    access: 'user-or-guest',
    operationId: 'signOutEverywhere',
    summary: 'Ends all tokens of the caller that were issued until now, on all devices',
    responses: { 204: { description: 'They are refused; new ones are accepted' }, ...refusals({}) },
    handler: async (context) => {
      const { caller, signal } = context;
      if (caller.kind !== 'user' && caller.kind !== 'guest') throw forbidden('this needs a user');
      await local.signOuts.signOut(caller, signal);
      context.empty(204);
    },
  };
  return [signIn, signOut, ...(local.samples.length > 0 ? [sample] : [])];
}

const LOOPBACK = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/;
