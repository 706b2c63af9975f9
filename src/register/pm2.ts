const WANTED = /^(?:RDCP_|OTEL_)|^(?:pm_id|name|namespace)$/;

/**
 * In PM2's cluster mode the variables of an application come in one, `pm2_env`, which PM2 unpacks after `--import`. Takes
 * what is needed here out of it; PM2 sets the same a moment later.
 */
export function takePm2Variables(env: NodeJS.ProcessEnv): void {
  if (env.pm2_env === undefined) return;
  try {
    const { env: own, ...outer }: Record<string, unknown> = JSON.parse(env.pm2_env);
    for (const [name, value] of Object.entries({ ...outer, ...(own as object | undefined) })) {
      if (WANTED.test(name)) env[name] = String(value);
    }
  } catch {
    // Not PM2's.
  }
}
