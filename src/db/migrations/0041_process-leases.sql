CREATE TABLE "processes" (
	"id" text PRIMARY KEY NOT NULL,
	"renewed_at" timestamp with time zone NOT NULL
);
--> statement-breakpoint
-- What processes of an earlier version held, which have ended.
DELETE FROM "credit_leases";--> statement-breakpoint
DELETE FROM "rate_limit_slots";--> statement-breakpoint
ALTER TABLE "idempotency_keys" ADD COLUMN "process_id" text;--> statement-breakpoint
ALTER TABLE "credit_leases" ADD CONSTRAINT "credit_leases_process_id_processes_id_fk" FOREIGN KEY ("process_id") REFERENCES "public"."processes"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "rate_limit_slots" ADD CONSTRAINT "rate_limit_slots_process_id_processes_id_fk" FOREIGN KEY ("process_id") REFERENCES "public"."processes"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "credit_leases" DROP COLUMN "expires_at";--> statement-breakpoint
ALTER TABLE "idempotency_keys" DROP COLUMN "renewed_at";--> statement-breakpoint
ALTER TABLE "rate_limit_slots" DROP COLUMN "expires_at_ms";--> statement-breakpoint
ALTER TABLE "prompt_cache_usage" DROP COLUMN "updated_at";--> statement-breakpoint
-- Called by src/limits/shared-store.ts, which documents the request. Rows are locked in one order, so that calls cannot deadlock.
CREATE OR REPLACE FUNCTION "quire_exchange_rate_limits"(request json)
RETURNS TABLE (share_id text, granted double precision, debt_ms double precision) LANGUAGE plpgsql AS $$
DECLARE
	process text := request->>'process';
	now_ms double precision := coalesce((request->>'nowMs')::double precision, extract(epoch from clock_timestamp()) * 1000);
	share record;
	full_ms double precision;
	interval_ms double precision;
	available double precision;
BEGIN
	FOR share IN
		SELECT * FROM json_to_recordset(request->'buckets')
			AS row (id text, per_minute double precision, returned double precision, least double precision, most double precision)
		ORDER BY row.id COLLATE "C"
	LOOP
		SELECT full_at_ms INTO full_ms FROM rate_limit_buckets WHERE id = share.id FOR UPDATE;
		IF NOT FOUND THEN
			INSERT INTO rate_limit_buckets (id, full_at_ms) VALUES (share.id, now_ms) ON CONFLICT DO NOTHING;
			SELECT full_at_ms INTO full_ms FROM rate_limit_buckets WHERE id = share.id FOR UPDATE;
		END IF;
		interval_ms := 60000 / share.per_minute;
		full_ms := greatest(now_ms, greatest(full_ms, now_ms) - share.returned * interval_ms);
		-- A thousandth of a millisecond is the tolerance for rounding errors, as in src/limits/gcra.ts.
		available := greatest(0, floor((60000 - (full_ms - now_ms) + 0.001) / interval_ms));
		share_id := share.id;
		granted := CASE WHEN available >= share.least THEN least(share.most, available) ELSE 0 END;
		full_ms := full_ms + granted * interval_ms;
		debt_ms := full_ms - now_ms;
		UPDATE rate_limit_buckets SET full_at_ms = full_ms WHERE id = share.id;
		RETURN NEXT;
	END LOOP;
	FOR share IN
		SELECT * FROM json_to_recordset(request->'slots') AS row (id text, slots integer, used integer, wanted integer)
		ORDER BY hashtext(row.id)
	LOOP
		PERFORM pg_advisory_xact_lock(715503, hashtext(share.id));
		-- Two heartbeats may fail before the slots of a process are free.
		SELECT coalesce(sum(held), 0) INTO available FROM rate_limit_slots JOIN processes ON processes.id = process_id
			WHERE rate_limit_slots.id = share.id AND process_id <> process AND renewed_at > clock_timestamp() - interval '15 seconds';
		share_id := share.id;
		granted := greatest(share.used, least(share.wanted, share.slots - available));
		debt_ms := 0;
		IF granted > 0 THEN
			INSERT INTO rate_limit_slots AS slot (id, process_id, held) VALUES (share.id, process, granted)
			ON CONFLICT (id, process_id) DO UPDATE SET held = excluded.held;
		ELSE
			DELETE FROM rate_limit_slots WHERE id = share.id AND process_id = process;
		END IF;
		RETURN NEXT;
	END LOOP;
END
$$;
