import { BATCH_MOVES, BATCH_STATES } from '@plumbline/contract/batch'
import { sqlStates } from './states.ts'
import { isTask, NEW_TASK_STATES, TASK_MOVES, TASK_STATES } from './task-states.ts'

/**
 * SQL triggers that reject every state change of a batch or task that is not in its table of moves.
 * The conditions are in the triggers' `when` clause, so a legal change calls no function.
 */
export function stateRules(): string {
  return [refusal, batchRules(), taskRules()].join('\n')
}

const refusal = `
create or replace function refuse_move() returns trigger language plpgsql as $$
begin
  raise exception 'illegal move in %: % has % % and may not get %', tg_table_name, new.id, tg_argv[0],
    case when tg_op = 'UPDATE' then to_jsonb(old) ->> tg_argv[0] end, to_jsonb(new) ->> tg_argv[0]
    using errcode = 'check_violation';
end $$;`

function batchRules(): string {
  const legal = BATCH_STATES.flatMap((from) =>
    [from, ...BATCH_MOVES[from]].map((to) => `('${from}', '${to}')`),
  )
  return `
create or replace trigger known_start before insert on batches for each row
  when (new.status <> '${BATCH_STATES[0]}')
  execute function refuse_move('status');
create or replace trigger known_moves before update of status on batches for each row
  when (new.status in ${sqlStates(BATCH_STATES)} -- others are refused by the check of the column
    and (old.status, new.status) not in (${legal.join(', ')}))
  execute function refuse_move('status');`
}

function taskRules(): string {
  const starts = NEW_TASK_STATES.map((state) => `(${isTask(state, 'new')})`)
  const legal = TASK_STATES.flatMap((from) =>
    [from, ...TASK_MOVES[from]].map((to) => `(${isTask(from, 'old')} and ${isTask(to, 'new')})`),
  )
  return `
create or replace trigger known_start before insert on tasks for each row
  when (not (${starts.join(' or ')}))
  execute function refuse_move('lease_until');
create or replace trigger known_moves before update on tasks for each row
  when (not (${legal.join(' or ')}))
  execute function refuse_move('lease_until');
-- A lease is given with a higher number, which fences off whoever held the task before.
create or replace trigger higher_lease before update on tasks for each row
  when (new.lease < old.lease or (${isTask('leased', 'new')} and not (${isTask('leased', 'old')})
    and new.lease = old.lease))
  execute function refuse_move('lease');`
}
