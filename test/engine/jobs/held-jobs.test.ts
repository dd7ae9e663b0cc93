import t from 'tap';
import { HeldJobs } from '../../../engine/jobs/held-jobs.ts';

const idOf = (job: string): string => job;
const tenantOf = (job: string): string => job.charAt(0);

function held(waiting: readonly string[], tenants: boolean): HeldJobs<string> {
  const jobs = new HeldJobs<string>({ queueSize: 10, idOf, ...(tenants ? { tenantOf } : {}) });
  for (const job of waiting) jobs.offer({ job, at: 0 });
  return jobs;
}

t.test('the next job is of the tenant with the fewest running jobs', async (t) => {
  const jobs = held(['a3', 'b2', 'a4', 'b3'], true);
  const [a1, a2] = ['a1', 'a2', 'b1'].map((job) => jobs.begin({ job, at: 0 }));
  // The last job of a began longer ago than that of b.
  t.equal(jobs.takeNext()?.job, 'b2');
  for (const running of [a1, a2]) if (running) jobs.end(running);
  t.equal(jobs.takeNext()?.job, 'a3');
});

t.test('where jobs have no tenants, the oldest is next', async (t) => {
  const jobs = held(['a2', 'b1'], false);
  jobs.begin({ job: 'a1', at: 0 });
  t.equal(jobs.takeNext()?.job, 'a2');
});
