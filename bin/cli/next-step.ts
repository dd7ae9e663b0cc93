// Suggests what to do about a command's failure, in one sentence. Undefined where the error message says it all.

import { Failure, kindOf } from '../../engine/runtime/failure.ts';
import { CannotListen } from '../compose/listeners.ts';
import { ApiError, ConfigurationError } from './command.ts';
import type { NamedCommand } from './command-table.ts';

const START =
  "'longshore up' starts a server on this machine, 'longshore serve --config FILE' starts one from a configuration";
const TOKEN =
  "use --token T or the variable LONGSHORE_TOKEN, or --data DIR of a running 'longshore up'; " +
  "'longshore token --user N' prints a token";
const ADMIN_TOKEN =
  'use --admin-token T or the variable LONGSHORE_ADMIN_TOKEN (containerCore.authentication.adminToken of the ' +
  "configuration), or --data DIR of a running 'longshore up'";

const OTHER_PORTS_UP = 'stop what uses them, or use --port-base N: this run then uses five ports from N';
const OTHER_PORTS = 'stop what uses them, or choose others in the configuration';

export function nextStep({ name, spec: { options } }: NamedCommand, error: unknown): string | undefined {
  // Its options say as whom a command calls a running server.
  const ofUsers = 'token' in options;
  const ofAdministrators = 'admin-token' in options;
  if (error instanceof ConfigurationError)
    return "fix the file; 'longshore config check FILE' checks it again, 'longshore config schema' documents every key";
  if (error instanceof CannotListen) return name === 'up' ? OTHER_PORTS_UP : OTHER_PORTS;
  if (error instanceof ApiError) return afterAnswer(error.status, ofUsers, ofAdministrators);
  if (error instanceof Failure && error.unreachable) {
    if (ofUsers || ofAdministrators) return `is it running, and is that its address? ${START}`;
    return "'longshore doctor --config FILE' checks everything that the configuration names";
  }
  if (name === 'watch' && (kindOf(error) === 'aborted' || kindOf(error) === 'transient'))
    return "the server continues to process the dataset; 'longshore watch ID' follows it again";
  return undefined;
}

function afterAnswer(status: number, ofUsers: boolean, ofAdministrators: boolean): string | undefined {
  if (ofAdministrators && (status === 401 || status === 403)) return ADMIN_TOKEN;
  if (status === 401) return TOKEN;
  if (status === 404 && ofUsers) return "'longshore datasets list' lists the datasets that you can see";
  if (status === 503) return "retry later; 'longshore top' shows what is missing";
  return undefined;
}
