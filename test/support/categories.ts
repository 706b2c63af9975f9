/** The categories of the services that tests start. */
export const CATEGORIES = ['DATABASE', 'HTTP', 'X-CUSTOM'] as const;
