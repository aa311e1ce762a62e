/** The roles of people. Each role includes the rights of the roles before it. */
export const roles = ['viewer', 'approver', 'admin'] as const;

export type Role = (typeof roles)[number];
