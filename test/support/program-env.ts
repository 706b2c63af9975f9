/**
 * The environment of programs that tests start: none of the variables of whoever runs the tests that this package or
 * OpenTelemetry reads, and the compiled code of those before, which a third of their start is about.
 */
export const PROGRAM_ENV: NodeJS.ProcessEnv = {
  PATH: process.env.PATH,
  HOME: process.env.HOME,
  NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE,
};

/** The same for a service under `register` with a configuration file, on ports that are free. */
export const SERVICE_ENV: NodeJS.ProcessEnv = {
  ...PROGRAM_ENV,
  RDCP_CONFIG: 'rdcp.json',
  RDCP_PORT: '0',
  OTEL_EXPORTER_PROMETHEUS_PORT: '0',
};
