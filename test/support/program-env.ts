/**
 * The environment of programs that tests start: none of the variables of whoever runs the tests that this package or
 * OpenTelemetry reads, and the compiled code of those before, which a third of their start is about.
 */
export const PROGRAM_ENV: NodeJS.ProcessEnv = {
  PATH: process.env.PATH,
  HOME: process.env.HOME,
  NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE,
};
