const WANTED = /^(?:RDCP_|OTEL_)|^(?:pm_id|name|namespace)$/;

/**
 * In PM2's cluster mode an application's variables are packed in `pm2_env`, which PM2 unpacks after `--import`. Sets those
 * that this package and OpenTelemetry read; PM2 sets the same values a moment later.
 */
export function takePm2Variables(env: NodeJS.ProcessEnv): void {
  if (env.pm2_env === undefined) return;
  try {
    const { env: own, ...outer }: Record<string, unknown> = JSON.parse(env.pm2_env);
    for (const [name, value] of Object.entries({ ...outer, ...(own as object | undefined) })) {
      if (WANTED.test(name)) env[name] = String(value);
    }
  } catch {
    // Not written by PM2.
  }
}
