// What the plugin's reply to a step of an install means: the status, the messages for the owner, and what operators see.

import type { ScriptEvidence } from '../../engine/model/script-evidence.ts';
import type { InstallKind, InstallStatus } from '../../engine/model/status.ts';
import type { InstallTarget } from '../../engine/ports/install-target.ts';
import type { JobFault } from '../../engine/ports/jobs.ts';
import type { InstallReply } from '../../engine/ports/plugin-client.ts';
import { scriptText } from '../../engine/runtime/owner-text.ts';
import { pluginServerError } from '../plugins/plugin-breakers.ts';
import { allMessages } from '../tasks/task-map.ts';

interface AnsweredStep {
  readonly target: Pick<InstallTarget, 'id'>;
  readonly kind: InstallKind;
  readonly plugin: string;
}

export interface Answer {
  readonly status: InstallStatus;
  readonly messages: readonly string[];
  readonly fault?: JobFault;
}

/** Throws when the plugin's server failed: the step is retried. */
export function answerOf(reply: InstallReply, step: AnsweredStep): Answer {
  switch (reply.kind) {
    case 'success':
      return { status: 'complete', messages: allMessages(reply.validation) };
    case 'invalid':
      return refused('failed-validation', allMessages(reply.validation), step);
    case 'missing-dependency':
      return refused('missing-dependency', reply.messages, step);
    case 'script-error':
      return {
        status: 'failed-installation',
        messages: [scriptText(reply, 'install')],
        fault: faultOf('failed', step, reply.message, reply),
      };
    case 'server-error':
      throw pluginServerError(step.plugin, reply.message);
    default:
      return reply satisfies never;
  }
}

const refused = (status: InstallStatus, messages: readonly string[], step: AnsweredStep): Answer => ({
  ...{ status, messages },
  fault: faultOf('invalid', step, messages.length > 0 ? messages.join('; ') : status),
});

export const faultOf = (
  kind: JobFault['kind'],
  step: AnsweredStep,
  message: string,
  { exitCode, output }: ScriptEvidence = {},
): JobFault => ({ kind, message: `${step.kind} on ${step.target.id}: ${message}`, exitCode, output });
