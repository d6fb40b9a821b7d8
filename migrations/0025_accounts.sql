-- src/identity/people/columns.ts has it now.
drop view account;
