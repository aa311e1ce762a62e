/** The roles of people, each with the rights of those before it. */
export const roles = ['viewer', 'approver', 'admin'] as const;

export type Role = (typeof roles)[number];
