// POST /statuses: the statuses of many jobs in one request.

import { parseReportJobId, type ReportStatus } from '../../engine/model/report/report-job.ts';
import type { ReportJobs } from '../../engine/ports/report-jobs.ts';
import { readJsonList } from '../kernel/bodies/body.ts';
import { Faults } from '../kernel/input/faults.ts';
import { answer, refusals } from '../kernel/pipeline/responses.ts';
import type { Route } from '../kernel/pipeline/route.ts';
import { MAX_IDS, Statuses, StatusesRequest } from './schema.ts';

export function statusesRoute({ jobs }: { readonly jobs: Pick<ReportJobs, 'statuses'> }): Route {
  return {
    method: 'POST',
    needsNoRoom: true,
    path: '/statuses',
    access: 'user-or-guest',
    operationId: 'getReportStatuses',
    summary: 'The statuses of jobs by id; what is no id or no job is left out, and nothing counts as an access',
    body: { description: 'Ids', content: { 'application/json': { ...StatusesRequest } } },
    responses: {
      200: answer('By the ids as they were sent', Statuses),
      ...refusals({
        400: 'The body is not JSON list, or larger than 512 KiB',
        415: 'The body is not JSON',
        422: 'The list is too long',
      }),
    },
    handler: async (context) => {
      const list = await readJsonList(context.request);
      if (list.length > MAX_IDS) throw tooMany(list.length);
      const ids = list.flatMap((text) => {
        const id = typeof text === 'string' ? parseReportJobId(text) : undefined;
        return id && typeof text === 'string' ? [[text, id] as const] : [];
      });
      const found = await jobs.statuses(
        ids.map(([, id]) => id),
        context.signal,
      );
      const statuses: Record<string, ReportStatus> = {};
      for (const [text, id] of ids) {
        const status = found.get(id);
        if (status) statuses[text] = status;
      }
      await context.json(200, statuses);
    },
  };
}

function tooMany(count: number): Error {
  const faults = new Faults();
  faults.add([], `the list has ${count} ids; at most ${MAX_IDS} are allowed`);
  return faults.refusal();
}
