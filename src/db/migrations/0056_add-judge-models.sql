ALTER TABLE "evaluations" ADD COLUMN "judge_model" text;--> statement-breakpoint
ALTER TABLE "question_sets" ADD COLUMN "judge_model" text;