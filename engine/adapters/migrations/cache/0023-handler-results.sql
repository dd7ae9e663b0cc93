-- Results of handler jobs are counted for the owners of the jobs, at each upload.

create index handler_job_kept on handler_job ((registration ->> 'owner')) where result_bytes is not null;
