"""The one predicate *wanted* (DESIGN section 4), as SQL for scan, align, lists, inbox and feeds (law 6).

Parameters: `:org`; `:subjects`, the entries to look at (null: all); and each usable site's own day, `:sites`,
`:todays`, `:not_befores`, worked out by the caller, since SQL converts no zone. Each table carries `org_id = :org`
itself, so that the same text runs on a cluster distributed by organisation. The owed check never uses this module.
"""

from __future__ import annotations

IN_SCOPE = "(cast(:subjects as bigint[]) is null or {} = any (cast(:subjects as bigint[])))"

# Somebody is on it: a standing answer "done", or "on it until D" with D not yet over at the site.
ON_IT = """a.taken_back_at is null and a.sent_back_at is null
      and (a.answer = 'done' or a.answer = 'on_it' and a.until_on >= d.today)"""

# Each usable site's day, which rules reach which kinds and sites, and the obligations that somebody is on. A site that
# cannot be used is in none of them. The answers are read once for all, and not at all where no rule asks for them.
REACH = f"""
site_day as materialized (
  select * from unnest(cast(:sites as bigint[]), cast(:todays as date[]), cast(:not_befores as timestamptz[]))
         as d (site_id, today, not_before)
), rule_in_force as materialized (
  select r.id as rule_id, r.version as rule_version, r.only_if,
         exists (select from rule_subject x where x.org_id = :org and x.rule_id = r.id) as by_subject
  from alert_rule r where r.org_id = :org and r.is_active and r.archived_at is null
), reached_kind as materialized (
  select r.rule_id, k.id as kind_id
  from rule_in_force r join kind k on k.org_id = :org
  where exists (select from rule_kind x where x.org_id = :org and x.rule_id = r.rule_id and x.kind_id = k.id)
     or not exists (select from rule_kind x where x.org_id = :org and x.rule_id = r.rule_id)
), reached_site as materialized (
  select r.rule_id, p.id as site_id
  from rule_in_force r join site p on p.org_id = :org and p.archived_at is null
  where exists (select from rule_site x where x.org_id = :org and x.rule_id = r.rule_id and x.site_id = p.id)
     or not exists (select from rule_site x where x.org_id = :org and x.rule_id = r.rule_id)
), attended as materialized (
  select distinct c.obligation_id
  from acknowledgement a
  join notification_ledger c on c.org_id = :org and c.id = a.claim_id and {IN_SCOPE.format("c.subject_id")}
  join subject s on s.org_id = :org and s.id = c.subject_id
  join site_day d on d.site_id = s.site_id
  where a.org_id = :org and {ON_IT} and exists (select from rule_in_force r where r.only_if = 'nobody_on_it')
)"""

# A snooze silences what comes before the due date, and nothing else.
BEFORE_DUE = "(t.threshold <> '0d' and t.threshold not like '+%')"

# A filing is pending from the day it was filed until its end; one under which the paper stays in force is not told of.
FILING_PENDING = "(o.filed_on is not null and o.filing_ended_on is null)"

# The same for one obligation `o`, for a page. In WANTED it would read all answers again for each row.
SOMEBODY_ON_IT = f"""exists (
    select from notification_ledger c
    join acknowledgement a on a.org_id = :org and a.claim_id = c.id
    where c.org_id = :org and c.obligation_id = o.id and {ON_IT})"""

# The day to ask the authority again is told of in the place of a threshold, `@2027-03-18`, while the filing is pending.
IS_FOLLOW_UP = "(left({}, 1) = '@')"
FOLLOW_UP = "'@' || to_char(o.ask_again_on, 'YYYY-MM-DD')"

# The open obligations of watched entries; the rules that reach their kinds and sites; and that all this is in scope.
OF_ENTRIES = f"""
  from obligation o
  join subject s on s.org_id = :org and s.id = o.subject_id and s.status = 'watched' and {IN_SCOPE.format("s.id")}
  join site_day d on d.site_id = s.site_id"""
OF_RULES = """
  join reached_kind k on k.kind_id = s.kind_id
  join reached_site p on p.rule_id = k.rule_id and p.site_id = s.site_id
  join rule_in_force r on r.rule_id = k.rule_id"""
REACHED = f"""
  where o.org_id = :org and o.closed_at is null and {IN_SCOPE.format("o.subject_id")}
    and (not r.by_subject
         or exists (select from rule_subject x where x.org_id = :org and x.rule_id = r.rule_id and x.subject_id = s.id))
"""

# One row for each (rule, subject, due date, threshold) that is wanted, crossed or not; then the follow-ups of filings,
# by every rule that tells of the entry whoever is on it. A follow-up falls on a day of its own, and no snooze silences
# it. Rules that tell only if nobody is on it have none, since a filing that is pending is somebody.
# What the two are joined with stands inside each, since the planner pushes nothing into their union.
BOTH = f"""
  select r.rule_id, r.rule_version, o.subject_id, t.threshold, o.due_on, o.id as obligation_id,
         s.site_id, s.reference, s.title
  {OF_ENTRIES}
  left join attended n on n.obligation_id = o.id
  {OF_RULES}
  join rule_threshold t on t.org_id = :org and t.rule_id = r.rule_id
  {{}}
  {REACHED}
    and not ({FILING_PENDING} and o.in_force_meanwhile is not distinct from 'yes')
    and not (s.snoozed_until is not null and d.today < s.snoozed_until and {BEFORE_DUE})
    and not (r.only_if = 'nobody_on_it' and ({FILING_PENDING} or n.obligation_id is not null))
  union all
  select r.rule_id, r.rule_version, o.subject_id, {FOLLOW_UP}, o.due_on, o.id, s.site_id, s.reference, s.title
  {OF_ENTRIES}
  {OF_RULES}
  {{}}
  {REACHED}
    and {FILING_PENDING} and o.ask_again_on is not null and r.only_if = 'always'"""

WANTED = BOTH.format("", "")

# Those of them that have crossed. Whoever uses it has a table `horizon` by site and threshold.
BY_HORIZON = "join horizon h on h.site_id = s.site_id and h.threshold = {} and o.due_on <= h.due_through"
WANTED_AND_CROSSED = BOTH.format(BY_HORIZON.format("t.threshold"), BY_HORIZON.format(FOLLOW_UP))

# Which clause of the predicate fails first, for a claim `l` that is not wanted: the reason that the audit view words.
WHY_NOT = f"""
  case
    when o.id is null then 'moved'
    when o.closed_at is not null then 'closed'
    when s.status <> 'watched' then s.status
    when p.archived_at is not null then 'site_archived'
    when {IS_FOLLOW_UP.format("l.threshold")} and not {FILING_PENDING} then 'closed'
    when {IS_FOLLOW_UP.format("l.threshold")} and {FOLLOW_UP} is distinct from l.threshold then 'moved'
    when {FILING_PENDING} and o.in_force_meanwhile is not distinct from 'yes'
     and not {IS_FOLLOW_UP.format("l.threshold")} then 'filed'
    when not r.is_active or r.archived_at is not null then 'rule_off'
    when t.threshold is null and not {IS_FOLLOW_UP.format("l.threshold")} then 'threshold_off'
    when not exists (select from reached_kind x where x.rule_id = r.id and x.kind_id = s.kind_id)
      or not exists (select from reached_site x where x.rule_id = r.id and x.site_id = s.site_id) then 'no_match'
    when exists (select from rule_subject x where x.org_id = :org and x.rule_id = r.id)
     and not exists (select from rule_subject x where x.org_id = :org and x.rule_id = r.id and x.subject_id = s.id)
      then 'no_match'
    when s.snoozed_until is not null and d.today < s.snoozed_until and {BEFORE_DUE} then 'snoozed'
    when {FILING_PENDING} then 'filed'
    else 'somebody_on_it'
  end"""

# What WHY_NOT reads, for a claim `l`. It leaves out the claims of a site whose time zone cannot be used.
FACTS_OF_CLAIM = """
  join subject s on s.org_id = :org and s.id = l.subject_id
  join site p on p.org_id = :org and p.id = s.site_id
  join site_day d on d.site_id = s.site_id
  join alert_rule r on r.org_id = :org and r.id = l.rule_id
  left join rule_threshold t on t.org_id = :org and t.rule_id = l.rule_id and t.threshold = l.threshold
  left join obligation o on o.org_id = :org and o.subject_id = l.subject_id and o.due_on = l.due_on"""
