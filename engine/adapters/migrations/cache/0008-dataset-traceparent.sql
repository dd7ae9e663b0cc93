-- The trace of the request that changed the dataset last (W3C Trace Context): what its jobs tell the plugins.
alter table dataset add column traceparent text;
