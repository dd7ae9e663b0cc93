// The web console of the configuration: where the services are for browsers, which pages may call them, and how people sign in.

import type { Configuration } from '../../config/configuration.ts';
import { consolePath } from '../../http/installer/console/console-page.ts';
import { type ConsoleOptions, consoleRoutes, type LocalSignIn } from '../../http/installer/console/console-routes.ts';
import type { AuthSettings } from '../../http/kernel/auth/authenticate.ts';
import type { Route } from '../../http/kernel/pipeline/route.ts';
import { VERSION } from '../cli/version.ts';
import { basePathOf } from './front-end.ts';

const LOOPBACK = ['127.0.0.1', '::1', 'localhost'];

type Core = Pick<Configuration['containerCore'], 'console' | 'http' | 'ports'>;

/** Origins of the console, whose pages call the access and report services. */
export function consoleOrigins({ console: { origin }, http, ports }: Core): readonly string[] {
  if (origin !== undefined) return [origin];
  if (!LOOPBACK.includes(http.bindHost)) return [];
  const scheme = http.tls ? 'https' : 'http';
  return LOOPBACK.map(
    (host) => new URL(`${scheme}://${host.includes(':') ? `[${host}]` : host}:${ports.installer}`).origin,
  );
}

/** The address of the page, for people. @param installerUrl of the listener */
export function consoleUrl({ console: { origin }, http }: Core, installerUrl: string): string {
  const basePath = basePathOf(http.basePath, 'installer');
  const url = new URL(origin ?? installerUrl);
  // A listener on all addresses has one on this machine.
  if (url.hostname === '0.0.0.0' || url.hostname === '[::]') url.hostname = 'localhost';
  return `${url.origin}${basePath}${consolePath(basePath)}`;
}

export function webConsole(
  configuration: Configuration,
  local: LocalSignIn | undefined,
  { guesses }: Pick<AuthSettings, 'guesses'>,
): readonly Route[] {
  const { authentication, console: settings, http } = configuration.containerCore;
  const { product, oidc } = settings;
  const issuer = authentication?.oauth?.issuer;
  const bySite = oidc && issuer !== undefined && URL.canParse(issuer) ? { ...oidc, issuer } : undefined;
  return consoleRoutes({
    ...{ product, local, guesses, version: VERSION, basePath: basePathOf(http.basePath, 'installer') },
    oidc: bySite && { issuer: bySite.issuer, clientId: bySite.clientId, scopes: bySite.scopes },
    issuerOrigins: bySite ? [new URL(bySite.issuer).origin, ...bySite.origins] : [],
    services: (installerUrl) => servicesAt(configuration, installerUrl),
  });
}

function servicesAt(configuration: Configuration, installerUrl: string): ReturnType<ConsoleOptions['services']> {
  const { console: settings, http, ports } = configuration.containerCore;
  const urlOf = (name: 'access' | 'report', given: string | undefined): string => {
    if (given !== undefined) return given.replace(/\/+$/, '');
    const url = new URL(installerUrl);
    const basePath = basePathOf(http.basePath, name);
    if (basePath === '') url.port = String(ports[name]);
    return `${url.origin}${basePath}`;
  };
  return {
    ...(configuration.access ? { access: urlOf('access', settings.accessUrl) } : {}),
    ...(configuration.report ? { report: urlOf('report', settings.reportUrl) } : {}),
  };
}
