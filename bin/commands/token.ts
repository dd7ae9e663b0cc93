// `longshore token`: prints one bearer token of the local issuer.

import { parseUserId } from '../../engine/model/ids.ts';
import { implement } from '../cli/arguments.ts';
import { type Command, ConfigurationError, EXIT, UsageError } from '../cli/command.ts';
import { loadConfig } from '../cli/load-config.ts';
import { localToken } from '../cli/local-token.ts';
import { jsonLine } from '../cli/terminal/text.ts';
import { TOKEN } from '../cli/tree/machine.ts';
import { dataDir, defaultDataPath } from '../compose/data-dir.ts';

export const token: Command = implement(TOKEN, async ({ values }, io) => {
  if (parseUserId(values.user) === undefined)
    throw new UsageError(`--user '${values.user}': must be a user id from 1 to 9223372036854776000`);
  const issuer = values.config === undefined ? localIssuer(values.data) : await configuredIssuer(values.config, io);
  const subject = {
    user: values.user,
    guest: values.guest,
    givenName: values['given-name'],
    familyName: values['family-name'],
    email: values.email,
  };
  const printed = await localToken(issuer, subject);
  io.out(values.json ? jsonLine({ token: printed }) : `${printed}\n`);
  return EXIT.ok;
});

function localIssuer(data: string | undefined): Parameters<typeof localToken>[0] {
  return { tokenKey: dataDir(data ?? defaultDataPath(process.getuid?.())).tokenKey };
}

async function configuredIssuer(
  file: string,
  io: Parameters<Command['run']>[1],
): Promise<Parameters<typeof localToken>[0]> {
  const oauth = (await loadConfig(file, io, { namedFiles: false })).containerCore.authentication?.oauth;
  if (oauth?.privateKeyFile === undefined)
    throw new ConfigurationError(
      `${file}: containerCore.authentication.oauth.privateKeyFile is not set: tokens come from an external issuer`,
    );
  return { tokenKey: oauth.privateKeyFile, issuer: oauth.issuer, audience: oauth.audience };
}
