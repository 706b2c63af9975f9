import type { Check } from './check.ts';
import { auditChecks } from './rdcp/audit.ts';
import { authenticationChecks } from './rdcp/authentication.ts';
import { controlChecks } from './rdcp/control.ts';
import { discoveryChecks } from './rdcp/discovery.ts';
import { enterpriseChecks } from './rdcp/enterprise.ts';
import { errorChecks } from './rdcp/errors.ts';
import { headerChecks } from './rdcp/headers.ts';
import { healthChecks } from './rdcp/health.ts';
import { limitChecks } from './rdcp/limits.ts';
import { malformedChecks } from './rdcp/malformed.ts';
import { metricsChecks } from './rdcp/metrics.ts';
import { scopeChecks } from './rdcp/scopes.ts';
import { standardChecks } from './rdcp/standard.ts';
import { statusChecks } from './rdcp/status.ts';
import { temporaryChecks } from './rdcp/temporary.ts';
import { tenancyChecks } from './rdcp/tenancy.ts';
import { transportChecks } from './rdcp/transport.ts';
import { wellKnownChecks } from './rdcp/well-known.ts';

/** Every check, in the order in which they are made: what uses up a rate limit comes last. */
export const catalogue: readonly Check[] = [
  ...transportChecks,
  ...wellKnownChecks,
  ...discoveryChecks,
  ...statusChecks,
  ...healthChecks,
  ...controlChecks,
  ...malformedChecks,
  ...temporaryChecks,
  ...authenticationChecks,
  ...scopeChecks,
  ...errorChecks,
  ...headerChecks,
  ...metricsChecks,
  ...auditChecks,
  ...standardChecks,
  ...tenancyChecks,
  ...enterpriseChecks,
  ...limitChecks,
].sort((a, b) => Number(a.exhaust ?? false) - Number(b.exhaust ?? false));
