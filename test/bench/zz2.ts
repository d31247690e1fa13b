import { startServers } from './servers.ts'
import { startService } from '../support/service.ts'
import { drive } from './zdrive.ts'
import { openLane } from './http-lane.ts'
await using servers = await startServers()
async function one(redisUrl:any){
const s = await startService({databaseUrl:servers.databaseUrl, redisUrl, workers:[['email']]})
const {liveKey}=await s.account({credits:100000})
const lanes=await Promise.all(Array.from({length:64},()=>openLane(s.url,liveKey)))
let done=0
const slow:any[]=[]
const waiting=new Map<number,number>()
const iv=setInterval(async()=>{ const n=performance.now(); const old=[...waiting].filter(([,t])=>n-t>1500); console.error('done',done,'old',old.length,old[0]); if(old.length>5||process.env.V){const {rows}=await s.db.pool.query(`select pid,application_name,state,wait_event_type||':'||wait_event w,left(query,90) q, now()-query_start d from pg_stat_activity where datname=current_database() and (state<>'idle') and pid<>pg_backend_pid()`); console.error(rows.map(x=>JSON.stringify(x)).join('\n')); console.error((await s.db.pool.query(`select queue,state,count(*) from bullmq.job group by 1,2`)).rows, (await s.db.pool.query('select count(*) from letters')).rows[0]) }},2000)
const call=async(at:number,lane:number)=>{ const t=performance.now();waiting.set(at,t); const email=`p${at}@example.com`; const b=await lanes[lane]!.post('/v1/email',JSON.stringify({email})); if(!b.includes(email)) throw new Error(b); done++; waiting.delete(at);if(performance.now()-t>200) slow.push([at,Math.round(performance.now()-t)]) }
try { await drive([{calls:4000,atOnce:64},{calls:1000,atOnce:1},{calls:20000,atOnce:64}],call)} finally {
clearInterval(iv); console.error('slow',slow.length,JSON.stringify(slow.slice(-5)))
await s[Symbol.asyncDispose]()}
}
setTimeout(()=>{console.error('TIMEOUT');process.exit(1)},80000).unref()
if(process.env.FIRST)await one(servers.redisUrl)
await one(undefined)
process.exit()
