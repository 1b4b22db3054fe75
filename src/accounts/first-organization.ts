/** The organization that a first start creates, and that commands mean when none is named. */
export const FIRST_ORGANIZATION = 'default';
