CREATE TABLE "evaluation_results" (
	"id" text PRIMARY KEY NOT NULL,
	"evaluation_id" text NOT NULL,
	"question" jsonb,
	"chunk_id" text,
	"status" text NOT NULL,
	"result" jsonb,
	"error" jsonb,
	"cost_micros" bigint DEFAULT 0 NOT NULL,
	"unrecorded_usage" jsonb
);
--> statement-breakpoint
CREATE TABLE "evaluations" (
	"id" text PRIMARY KEY NOT NULL,
	"organization_id" text NOT NULL,
	"knowledge_base_id" text NOT NULL,
	"question_set_id" text,
	"name" text NOT NULL,
	"caller" jsonb NOT NULL,
	"configuration" jsonb NOT NULL,
	"generate" jsonb,
	"seed" integer NOT NULL,
	"status" text NOT NULL,
	"baseline_id" text,
	"summary" jsonb,
	"comparison" jsonb,
	"error" jsonb,
	"created_at" timestamp with time zone NOT NULL,
	"started_at" timestamp with time zone,
	"ended_at" timestamp with time zone
);
--> statement-breakpoint
CREATE TABLE "question_sets" (
	"id" text PRIMARY KEY NOT NULL,
	"organization_id" text NOT NULL,
	"knowledge_base_id" text NOT NULL,
	"name" text NOT NULL,
	"questions" jsonb NOT NULL,
	"schedule" text,
	"configuration" jsonb NOT NULL,
	"caller" jsonb NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	"updated_at" timestamp with time zone NOT NULL
);
--> statement-breakpoint
ALTER TABLE "evaluation_results" ADD CONSTRAINT "evaluation_results_evaluation_id_evaluations_id_fk" FOREIGN KEY ("evaluation_id") REFERENCES "public"."evaluations"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "evaluations" ADD CONSTRAINT "evaluations_knowledge_base_id_knowledge_bases_id_fk" FOREIGN KEY ("knowledge_base_id") REFERENCES "public"."knowledge_bases"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "evaluations" ADD CONSTRAINT "evaluations_question_set_id_question_sets_id_fk" FOREIGN KEY ("question_set_id") REFERENCES "public"."question_sets"("id") ON DELETE set null ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "question_sets" ADD CONSTRAINT "question_sets_knowledge_base_id_knowledge_bases_id_fk" FOREIGN KEY ("knowledge_base_id") REFERENCES "public"."knowledge_bases"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "evaluation_results_by_evaluation" ON "evaluation_results" USING btree ("evaluation_id","id");--> statement-breakpoint
CREATE INDEX "evaluations_by_knowledge_base" ON "evaluations" USING btree ("knowledge_base_id","id");--> statement-breakpoint
CREATE INDEX "evaluations_by_question_set" ON "evaluations" USING btree ("question_set_id","id");--> statement-breakpoint
CREATE INDEX "question_sets_by_knowledge_base" ON "question_sets" USING btree ("knowledge_base_id","id");