/** Version of this package; a test holds it equal to package.json. */
export const VERSION = '0.1.0';

/** Name of the instrumentation scope under which every meter, logger and tracer of ours is taken. */
export const INSTRUMENTATION_NAME = 'opentelemetry-instrumentation-rdcp';
