/**
 * Roles of a member: an owner may do everything; a member everything except members, plan and
 * deletion; a viewer only read. Source: decision 42.
 */
export const ROLES = ['owner', 'member', 'viewer'] as const
/** Role of a member of an account. */
export type Role = (typeof ROLES)[number]

/** Whether a role may do what another may. */
export function isAtLeast(role: Role, needed: Role): boolean {
  return ROLES.indexOf(role) <= ROLES.indexOf(needed)
}
