/** Version of this package. A test compares it with package.json. */
export const VERSION = '0.1.0';

/** Name of the instrumentation scope of our meters, loggers and tracers. */
export const INSTRUMENTATION_NAME = 'opentelemetry-instrumentation-rdcp';
