/** For an operator who may have misspelt a tenant. */
export const UNKNOWN_TENANT =
  "No tenant of this id is configured or has settings: 'rdcp tenants' lists those that are known.";
